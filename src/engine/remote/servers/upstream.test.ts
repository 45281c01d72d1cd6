import { expect, test } from 'vitest'
import { profileOf } from './upstream.ts'

test.each([
  ['ollama', '0.12.11', true],
  ['ollama', '0.13.0-rc1', true],
  ['ollama', '1.0', true],
  ['ollama', '0.12.10', false],
  ['ollama', '0.9.12', false],
  ['ollama', undefined, false],
  ['openai', undefined, true],
] as const)('log-probabilities are asked of %s %s: %s', (profile, version, logprobs) => {
  expect(profileOf({ profile, protocol: 'chat', version, abilities: {} })).toMatchObject({ logprobs })
})
