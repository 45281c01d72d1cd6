// The calls of openai for Node.js.
import OpenAI from 'openai'
import { drain, greeting, limits, model, parameters, place, question, real, weather, wish } from './said.mjs'

const functions = [{ type: 'function', function: { name: 'weather', description: 'The weather of a city.', parameters } }]
const schema = { type: 'json_schema', json_schema: { name: 'place', schema: place, strict: true } }

export function calls(url) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 })
  const chat = (more) => client.chat.completions.create({ model, messages: greeting, ...more })
  const responses = (more) => client.responses.create({ model, input: 'hi', ...more })
  return {
    models: () => client.models.list(),
    chat: () => chat({}),
    'chat, streamed': async () => drain(await chat({ stream: true, stream_options: { include_usage: true } })),
    'chat, tools': async () => {
      const { message } = (await chat({ messages: question, tools: functions })).choices[0]
      const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: weather }
      await chat({ messages: [...question, message, result], tools: functions })
    },
    'chat, JSON schema': () => chat({ model: real, messages: wish, response_format: schema, ...limits }),
    'chat, log-probabilities': () => chat({ logprobs: true, top_logprobs: 2 }),
    completions: () => client.completions.create({ model, prompt: 'hi' }),
    'completions, streamed': async () => drain(await client.completions.create({ model, prompt: 'hi', stream: true })),
    embeddings: () => client.embeddings.create({ model, input: ['a', 'b'] }),
    responses: () => responses({}),
    'responses, streamed': async () => drain(await responses({ stream: true })),
    'responses, tools': async () => {
      const tools = [{ type: 'function', name: 'weather', parameters, strict: false }]
      const { output } = await responses({ input: question, tools })
      const { call_id } = output.find(({ type }) => type === 'function_call')
      await responses({ input: [...question, ...output, { type: 'function_call_output', call_id, output: weather }], tools })
    },
  }
}
