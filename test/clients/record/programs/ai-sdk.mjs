// The calls of Vercel's AI SDK, with its packages for OpenAI, servers like it, and Anthropic.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { embed, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai'
import { drain, model, parameters, place, question, real, weather } from './said.mjs'

const tools = {
  weather: tool({ description: 'The weather of a city.', inputSchema: jsonSchema(parameters), execute: () => weather }),
}

/** What is done with a model of each package. */
function textCalls(name, create) {
  return {
    [`${name} text`]: () => generateText({ model: create(model), prompt: 'hi', maxRetries: 0 }),
    [`${name} text, streamed`]: () => drain(streamText({ model: create(model), prompt: 'hi', maxRetries: 0 }).textStream),
    [`${name} tools`]: () =>
      generateText({ model: create(model), prompt: question[0].content, tools, stopWhen: stepCountIs(3), maxRetries: 0 }),
    [`${name} object`]: () => {
      const output = Output.object({ schema: jsonSchema(place) })
      return generateText({ model: create(real), prompt: 'A place, please.', output, maxRetries: 0 })
    },
  }
}

export function calls(url) {
  const at = { baseURL: `${url}/v1`, apiKey: 'unused' }
  const openai = createOpenAI(at)
  const compatible = createOpenAICompatible({ ...at, name: 'dragoman' })
  return {
    ...textCalls('OpenAI', (name) => openai(name)),
    ...textCalls('OpenAI chat', (name) => openai.chat(name)),
    ...textCalls('compatible', (name) => compatible(name)),
    ...textCalls('Anthropic', createAnthropic(at)),
    completion: () => generateText({ model: openai.completion(model), prompt: 'hi', maxRetries: 0 }),
    embedding: () => embed({ model: openai.embedding(model), value: 'a', maxRetries: 0 }),
  }
}
