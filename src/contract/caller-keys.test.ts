import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { CallerKeys } from './caller-keys.ts'

const keys = new CallerKeys(new Map([['openai', 'sk-of-the-caller']]))

test('a key is found by its provider', () => {
  expect([keys.get('openai'), keys.get('together')]).toEqual(['sk-of-the-caller', undefined])
})

test.each<[string, (value: unknown) => string]>([
  ['JSON', (value) => JSON.stringify(value)],
  ['a message to another process', (value) => JSON.stringify(structuredClone(value))],
  ['a log', (value) => inspect(value, { depth: null, showHidden: true })],
  ['a copy', (value) => JSON.stringify({ ...(value as object) })],
])('%s has no key', (_, show) => {
  expect(show({ request: { callerKeys: keys } })).not.toContain('sk-of')
})
