import { fileURLToPath } from 'node:url'

const call = (city: string) => `<tool_call>{"name": "weather", "arguments": {"city": "${city}"}}</tool_call>`

/** A script for clients: the model calls the tool `weather`, answers with what it finds in the result, thinks, and fails. */
export const scriptedAnswers = [
  { result: '(\\w+) degrees', reply: { raw: 'It has $1 degrees.' } },
  { match: 'weather', reply: { raw: `I look. ${call('Oslo')}` } },
  { match: 'ponder', reply: { raw: `<think>Where?</think>${call('Rome')}` } },
  { match: 'think', reply: { raw: '<think>Two words.</think>Good morning.' } },
  { match: 'breaks', reply: { raw: 'a b c', failAfter: 2 } },
  { reply: { raw: 'Good morning.' } },
]

/** The template that teaches its format of calls and of thoughts. */
export const scriptedTemplate = fileURLToPath(
  new URL('../../../src/dialect/openai-chat/__fixtures__/hermes.jinja', import.meta.url),
)
