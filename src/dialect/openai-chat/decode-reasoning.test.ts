import { describe, expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import type { ReasoningOptions } from '../../contract/request.ts'
import { decodeChat } from './decode.ts'

function decode(fields: object): ReturnType<typeof decodeChat> {
  return decodeChat({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields }, 'x')
}

describe('reasoning', () => {
  test.each<[object, ReasoningOptions]>([
    [{}, {}],
    [{ enable_thinking: false }, { enabled: false }],
    [{ enable_thinking: true }, { enabled: true }],
    [{ preserve_thinking: false }, { preserve: false }],
    [{ reasoning_effort: 'low' }, { effort: 'low' }],
    [{ reasoning_effort: 'none' }, { effort: 'none', enabled: false }],
    [{ reasoning: {} }, {}],
    [{ reasoning: { enabled: true, effort: 'high', max_tokens: 0 } }, { enabled: true, effort: 'high', budgetTokens: 0 }],
    [{ reasoning: { effort: 'none' } }, { effort: 'none', enabled: false }],
    [{ thinking: true }, { enabled: true }],
    [{ thinking: false }, { enabled: false }],
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, { enabled: true, budgetTokens: 1024 }],
    [{ thinking: { type: 'disabled' } }, { enabled: false }],
    [{ thinking: { type: 'adaptive' } }, {}],
    [{ thinking: { budget_tokens: 5 } }, { budgetTokens: 5 }],
    [{ reasoning_budget_tokens: 0 }, { budgetTokens: 0 }],
    [{ reasoning_budget: 1 }, { budgetTokens: 1 }],
    [{ thinking_budget: 2 }, { budgetTokens: 2 }],
    [{ thinking_token_budget: 3 }, { budgetTokens: 3 }],
    [{ thinking_budget_tokens: 4 }, { budgetTokens: 4 }],
    [{ reasoning_budget_tokens: -1 }, {}],
    [
      { thinking_budget: 2, reasoning_budget_message: 'Enough.' },
      { budgetTokens: 2, budgetMessage: 'Enough.' },
    ],
    [
      { thinking_budget_tokens: 2, thinking_budget_message: 'Enough.' },
      { budgetTokens: 2, budgetMessage: 'Enough.' },
    ],
    [{ thinking_budget: 2, reasoning_budget_message: '' }, { budgetTokens: 2 }],
    [{ reasoning_budget_message: 'Enough.' }, {}],
  ])('%j gives %j', (fields, expected) => {
    expect(decode(fields).request.reasoning).toEqual(expected)
  })

  test.each<[string, object, ReasoningOptions]>([
    ['the switch', { reasoning: { enabled: true }, thinking: true, enable_thinking: false }, { enabled: false }],
    ['the effort', { reasoning: { effort: 'high' }, reasoning_effort: 'low' }, { effort: 'low' }],
    ['an effort over none', { reasoning: { effort: 'none' }, reasoning_effort: 'low' }, { effort: 'low' }],
    ['no effort over a switch', { reasoning: { enabled: true }, reasoning_effort: 'none' }, { effort: 'none', enabled: false }],
    ['the budget', { reasoning: { max_tokens: 5 }, thinking_budget: 7 }, { budgetTokens: 7 }],
    ['not a negative budget', { reasoning: { max_tokens: 5 }, thinking_budget: -1 }, { budgetTokens: 5 }],
    [
      'field by field',
      { reasoning: { enabled: true, effort: 'high' }, reasoning_effort: 'low' },
      { enabled: true, effort: 'low' },
    ],
  ])('flat fields win over the objects: %s', (_, fields, expected) => {
    expect(decode(fields).request.reasoning).toEqual(expected)
  })

  test('both spellings of an object may say the same', () => {
    const fields = { reasoning: { enabled: true, max_tokens: 9 }, thinking: { type: 'enabled', budget_tokens: 9 } }
    expect(decode(fields).request.reasoning).toEqual({ enabled: true, budgetTokens: 9 })
  })

  test.each<[object, string]>([
    [{ reasoning: { enabled: true }, thinking: false }, 'thinking'],
    [{ reasoning: { max_tokens: 1 }, thinking: { budget_tokens: 2 } }, 'thinking.budget_tokens'],
    [{ reasoning_budget: 1, thinking_budget: 2 }, 'thinking_budget'],
    [{ reasoning_budget_message: 'a', thinking_budget_message: 'b' }, 'thinking_budget_message'],
    [{ reasoning: { max_tokens: -1 } }, 'reasoning.max_tokens'],
    [{ reasoning: 'high' }, 'reasoning'],
    [{ thinking: { type: 'sometimes' } }, 'thinking.type'],
    [{ thinking: { budget_tokens: 1.5 } }, 'thinking.budget_tokens'],
    [{ reasoning_effort: '' }, 'reasoning_effort'],
    [{ enable_thinking: 'yes' }, 'enable_thinking'],
  ])('%j is refused with its param', (fields, param) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ code: 'invalid-request', param }))
    expect(() => decode(fields)).toThrow(AppError)
  })

  test.each<[object, boolean]>([
    [{}, true],
    [{ include_reasoning: true }, true],
    [{ include_reasoning: false }, false],
    [{ reasoning: { exclude: true } }, false],
    [{ reasoning: { exclude: false } }, true],
  ])('%j: the reply shows the reasoning: %j', (fields, isShown) => {
    expect(decode(fields).showsReasoning).toBe(isShown)
  })
})
