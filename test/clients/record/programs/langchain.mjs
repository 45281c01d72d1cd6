// The calls of LangChain for Node.js, with its packages for OpenAI, Anthropic and Ollama.
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOllama, OllamaEmbeddings } from '@langchain/ollama'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { drain, model, parameters, place, question, real, weather } from './said.mjs'

const tools = [{ type: 'function', function: { name: 'weather', description: 'The weather of a city.', parameters } }]

/** What is done with a model of each package. */
function chatCalls(name, create) {
  return {
    [`${name} chat`]: () => create(model).invoke('hi'),
    [`${name} chat, streamed`]: async () => drain(await create(model).stream('hi')),
    [`${name} tools`]: async () => {
      const bound = create(model).bindTools(tools)
      const asked = new HumanMessage(question[0].content)
      const called = await bound.invoke([asked])
      await bound.invoke([asked, called, new ToolMessage({ content: weather, tool_call_id: called.tool_calls[0].id })])
    },
    [`${name} structured`]: () => create(real).withStructuredOutput(place).invoke('A place, please.'),
  }
}

export function calls(url) {
  const openai = { apiKey: 'unused', maxRetries: 0, configuration: { baseURL: `${url}/v1` } }
  const anthropic = { apiKey: 'unused', anthropicApiUrl: url, maxTokens: 2048, maxRetries: 0 }
  const ollama = { baseUrl: url, maxRetries: 0 }
  return {
    ...chatCalls('OpenAI', (name) => new ChatOpenAI({ model: name, ...openai })),
    ...chatCalls('Responses', (name) => new ChatOpenAI({ model: name, useResponsesApi: true, ...openai })),
    ...chatCalls('Anthropic', (name) => new ChatAnthropic({ model: name, ...anthropic })),
    ...chatCalls('Ollama', (name) => new ChatOllama({ model: name, ...ollama })),
    'OpenAI embeddings': () => new OpenAIEmbeddings({ model, ...openai }).embedQuery('a'),
    'Ollama embeddings': () => new OllamaEmbeddings({ model, ...ollama }).embedQuery('a'),
  }
}
