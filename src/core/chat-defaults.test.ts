import { expect, test } from 'vitest'
import { plainChat, type ReasoningOptions } from '../contract/request.ts'
import type { ChatDefaults } from '../contract/served-model.ts'
import { withChatDefaults } from './chat-defaults.ts'

const defaultsOf = (some: Partial<ChatDefaults>): ChatDefaults => ({
  reasoning: {},
  variables: {},
  forcedVariables: {},
  ...some,
})
const chat = (reasoning: ReasoningOptions, templateVariables = {}) => ({
  prompt: { type: 'chat', ...plainChat, messages: [], templateVariables } as const,
  reasoning,
})
const off: ChatDefaults['reasoning'] = { enabled: false, effort: 'low', preserve: true }
const on: ChatDefaults['reasoning'] = { enabled: true, effort: 'low' }

test.each<[ChatDefaults['reasoning'], ReasoningOptions, ReasoningOptions]>([
  [off, {}, { enabled: false, preserve: true }],
  [off, { enabled: true }, { enabled: true, effort: 'low', preserve: true }],
  [off, { effort: 'high', preserve: false }, { effort: 'high', preserve: false }],
  [off, { budgetTokens: 9 }, { budgetTokens: 9, effort: 'low', preserve: true }],
  [on, {}, { enabled: true, effort: 'low' }],
  [on, { enabled: false }, { enabled: false }],
  [on, { budgetTokens: 0 }, { budgetTokens: 0 }],
  [on, { effort: 'none' }, { effort: 'none' }],
  // The Messages API means off by saying nothing.
  [on, { enabled: false, isWish: true }, { enabled: true, effort: 'low', isWish: true }],
  [{}, { enabled: false, isWish: true }, { enabled: false, isWish: true }],
])('defaults %j of what a request says, %j, make %j', (reasoning, asked, expected) => {
  expect(withChatDefaults(chat(asked), defaultsOf({ reasoning })).reasoning).toEqual(expected)
})

test.each<[NonNullable<ChatDefaults['forcedReasoning']>, ReasoningOptions, ReasoningOptions]>([
  [{ enabled: false }, { enabled: true, effort: 'high', budgetTokens: 9 }, { enabled: false }],
  [{ enabled: false }, {}, { enabled: false }],
  [{ enabled: true }, { effort: 'none', budgetTokens: 0 }, { enabled: true }],
  [{ enabled: true }, { effort: 'high', budgetTokens: 9 }, { enabled: true, effort: 'high', budgetTokens: 9 }],
  [{ effort: 'low' }, { enabled: false, effort: 'high', isWish: true }, { enabled: true, effort: 'low' }],
  [{ preserve: false }, { preserve: true, effort: 'high' }, { preserve: false, effort: 'high' }],
])('what is forced, %j, wins over what a request says, %j: %j', (forcedReasoning, asked, expected) => {
  expect(withChatDefaults(chat(asked), defaultsOf({ forcedReasoning })).reasoning).toEqual(expected)
})

test('variables give way to those of a request, and forced ones do not', () => {
  const defaults = defaultsOf({ variables: { tone: 'dry', date: 'today' }, forcedVariables: { region: 'eu' } })
  const { prompt } = withChatDefaults(chat({}, { tone: 'warm', region: 'us' }), defaults)
  expect(prompt).toMatchObject({ templateVariables: { tone: 'warm', date: 'today', region: 'eu' } })
})

test('a text is not a conversation', () => {
  const request = { prompt: { type: 'text', text: 'a' }, reasoning: {} } as const
  expect(withChatDefaults(request, defaultsOf({ reasoning: off, variables: { tone: 'dry' } }))).toBe(request)
})
