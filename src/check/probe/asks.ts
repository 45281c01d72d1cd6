import type { Ask, Server } from './exchange.ts'

export const chatPath = '/v1/chat/completions'
/** The limit of ordinary replies: enough to see, and soon over. */
export const usualTokens = 16
/** A model that thinks first needs more for a call, or for JSON. */
export const callTokens = 400

export const user = (content: unknown) => ({ role: 'user', content })
export const question = 'Describe the sea, its waves and its colours in a few sentences.'

/** A chat completion: deterministic, short. */
export function chat({ model }: Pick<Server, 'model'>, more: object = {}): Ask {
  return { path: chatPath, body: { model, messages: [user(question)], max_tokens: usualTokens, temperature: 0, ...more } }
}

export const streamed = (server: Pick<Server, 'model'>, more: object = {}) =>
  chat(server, { stream: true, stream_options: { include_usage: true }, ...more })

/** Where the server knows it: the generation runs to its limit. */
export const endless = ({ hasEndlessRuns }: Server) => (hasEndlessRuns ? { ignore_eos: true } : {})

/** The same again, so that it is sent again. */
export const again = (ask: Ask, take = 'again'): Ask => ({ ...ask, take })

const fruits = ['apple', 'river', 'stone', 'cloud', 'table', 'green', 'winter', 'bread']
/** This many plain words. */
export const words = (count: number) => Array.from({ length: count }, (_, index) => fruits[index % fruits.length]).join(' ')

const weatherParameters = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Oslo', 'Paris'] }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
  required: ['city', 'unit'],
  additionalProperties: false,
} as const
export const tools = [
  { type: 'function', function: { name: 'get_weather', description: 'The weather of a city.', parameters: weatherParameters } },
  {
    type: 'function',
    function: {
      name: 'get_time',
      description: 'The time of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Oslo', 'Paris'] } }, required: ['city'] },
    },
  },
] as const

/** A chat completion with two tools. */
export const withTools = (server: Pick<Server, 'model'>, more: object) =>
  chat(server, { messages: [user('What is the weather in Oslo, in celsius?')], tools, max_tokens: callTokens, ...more })
