import { describe, expect, test } from 'vitest'
import type { Prompt } from '../../contract/request.ts'
import { decodeChat } from './decode.ts'

const user = { role: 'user', content: 'hi' }
const assistant = { role: 'assistant', content: 'Sure, ' }

function promptOf(fields: object): Extract<Prompt, { type: 'chat' }> {
  const { prompt } = decodeChat({ model: 'm', messages: [user], ...fields }, 'x').request
  if (prompt.type !== 'chat') throw new Error('not a chat')
  return prompt
}

const thought = (content: string | null) => ({ role: 'assistant', content, reasoning_content: 'Hm.' })

describe('where the answer begins', () => {
  test.each<[string, object, string]>([
    ['in a turn of its own', {}, 'new-turn'],
    ['also after an assistant message', { messages: [user, assistant] }, 'new-turn'],
    ['where the template ended', { add_generation_prompt: false }, 'bare'],
    ['in the last message', { messages: [user, assistant], continue_final_message: true }, 'last-message'],
    [
      'in the last message, said twice',
      { messages: [user, assistant], continue_final_message: true, add_generation_prompt: false },
      'last-message',
    ],
    ['in reasoning without a text', { messages: [user, thought(null)], continue_final_message: true }, 'last-message'],
    ['in reasoning with an empty text', { messages: [user, { ...thought(''), prefix: true }] }, 'last-message'],
    ['in a message with a prefix mark', { messages: [user, { ...assistant, prefix: true }] }, 'last-message'],
    ['in a partial message', { messages: [user, { ...assistant, partial: true }] }, 'last-message'],
    ['not in a message marked otherwise', { messages: [user, { ...assistant, prefix: false }] }, 'new-turn'],
  ])('%s', (_, fields, start) => {
    expect(promptOf(fields).start).toBe(start)
  })

  test.each<[object, string]>([
    [{ continue_final_message: true }, 'continue_final_message'],
    [{ messages: [user, assistant], continue_final_message: true, add_generation_prompt: true }, 'continue_final_message'],
    [{ messages: [user, { role: 'assistant', content: null }], continue_final_message: true }, 'continue_final_message'],
    [{ messages: [user, { ...thought(null), reasoning_content: '' }], continue_final_message: true }, 'continue_final_message'],
    [
      {
        messages: [user, { ...assistant, tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] }],
        continue_final_message: true,
      },
      'continue_final_message',
    ],
    [{ messages: [{ ...assistant, prefix: true }, user] }, 'messages[0].prefix'],
    [{ messages: [user, { ...assistant, partial: true }], continue_final_message: false }, 'messages[1].partial'],
    [{ messages: [user, { ...assistant, prefix: true, partial: false }] }, 'messages[1].partial'],
  ])('%j is refused with its param', (fields, param) => {
    expect(() => promptOf(fields)).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
  })
})

describe('what the answer begins with', () => {
  test('is handed on, in a new turn and in a continued one', () => {
    expect(promptOf({ response_prefix: '{"' }).responsePrefix).toBe('{"')
    const fields = { messages: [user, assistant], continue_final_message: true, response_prefix: 'here' }
    expect(promptOf(fields)).toMatchObject({ start: 'last-message', responsePrefix: 'here' })
  })

  test('needs an answer to begin', () => {
    expect(() => promptOf({ add_generation_prompt: false, response_prefix: 'a' })).toThrow(
      expect.objectContaining({ code: 'invalid-request', param: 'response_prefix' }),
    )
  })
})

describe('template variables', () => {
  test.each<[object, object]>([
    [{}, {}],
    [{ template_vars: { a: [1] } }, { a: [1] }],
    [{ chat_template_kwargs: { enable_thinking: false } }, { enable_thinking: false }],
    [{ verbosity: 'high' }, { verbosity: 'high' }],
    [{ verbosity: 'high', template_vars: { verbosity: 'low' } }, { verbosity: 'low' }],
  ])('%j gives %j', (fields, variables) => {
    expect(promptOf(fields).templateVariables).toEqual(variables)
  })

  test.each<[object, string]>([
    [{ template_vars: { a: 1 }, chat_template_kwargs: { a: 2 } }, 'chat_template_kwargs'],
    [{ template_vars: [1] }, 'template_vars'],
    [{ chat_template_kwargs: JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`) }, 'chat_template_kwargs'],
  ])('%j is refused with its param', (fields, param) => {
    expect(() => promptOf(fields)).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
  })
})

describe('log-probabilities', () => {
  const logprobsOf = (fields: object) => decodeChat({ model: 'm', messages: [user], ...fields }, 'x').request.logprobs

  test.each<[object, object | undefined]>([
    [{}, undefined],
    [{ logprobs: false }, undefined],
    [{ logprobs: 0 }, undefined],
    [{ top_logprobs: 0 }, undefined],
    [{ logprobs: true }, { top: 0 }],
    [{ logprobs: true, top_logprobs: 20 }, { top: 20 }],
    [{ logprobs: 1 }, { top: 0 }],
    [{ logprobs: 5 }, { top: 5 }],
    [{ logprobs: 5, top_logprobs: 2 }, { top: 2 }],
  ])('%j gives %j', (fields, expected) => {
    expect(logprobsOf(fields)).toEqual(expected)
  })

  test.each<[object, string]>([
    [{ top_logprobs: 1 }, 'top_logprobs'],
    [{ logprobs: false, top_logprobs: 1 }, 'top_logprobs'],
    [{ n_probs: 3, top_logprobs: 5 }, 'n_probs'],
    [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs'],
    [{ logprobs: true, top_logprobs: -1 }, 'top_logprobs'],
    [{ logprobs: 'yes' }, 'logprobs'],
  ])('%j is refused with its param', (fields, param) => {
    expect(() => logprobsOf(fields)).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
  })
})

describe('n', () => {
  const choicesOf = (fields: object) => decodeChat({ model: 'm', messages: [user], ...fields }, 'x').request.choices

  test('counts the choices', () => {
    expect([{}, { n: null }, { n: 1 }, { n: 128 }].map(choicesOf)).toEqual([1, 1, 1, 128])
  })

  test.each([0, -1, 1.5, 129, '2'])('%j is refused', (n) => {
    expect(() => choicesOf({ n })).toThrow(expect.objectContaining({ code: 'invalid-request', param: 'n' }))
  })
})

test.each(['messages', 'tools', 'add_generation_prompt'])(
  "a template variable '%s' is refused: the request itself says it",
  (name) => {
    const fields = { chat_template_kwargs: { [name]: null } }
    expect(() => promptOf(fields)).toThrow(expect.objectContaining({ param: `chat_template_kwargs.${name}` }))
  },
)
