import { expect, test } from 'vitest'
import type { ChatDefaults } from '../../contract/served-model.ts'
import { unusedDefaults } from './unused-chat-defaults.ts'

const chat: ChatDefaults = {
  reasoning: { enabled: false, effort: 'low', preserve: true },
  variables: { tone: 'dry' },
  forcedVariables: { region: 'eu' },
}

test.each([
  ['{{ messages }}', ['effort', 'preserveThinking', 'variables.tone', 'forcedVariables.region', 'thinking']],
  ['{{ messages }}{{ enable_thinking }}{{ tone }}', ['preserveThinking', 'forcedVariables.region']],
  ['{{ reasoning_effort }}{{ preserve_thinking }}{{ tone }}{{ region }}', []],
])('of the template %s, these have no use: %j', (chatTemplate, expected) => {
  expect(unusedDefaults(chat, { facts: { chatTemplate } })).toEqual(expected)
})

test('nothing is known of a template elsewhere', () => {
  expect(unusedDefaults(chat, { facts: {} })).toEqual([])
})
