import { expect, test } from 'vitest'
import { CallerKeys } from '../../../../contract/caller-keys.ts'
import type { ProfileName } from '../../servers/profile.ts'
import { callerKeyFor } from './caller-access.ts'

const all = ['openai', 'together', 'azure', 'gemini', 'vllm', 'llama_server', 'anthropic']
const keys = new CallerKeys(new Map(all.map((name) => [name, `key of ${name}`])))
const onlyPassthrough = new CallerKeys(new Map([['passthrough', 'key of passthrough']]))

test.each<[string, ProfileName, string | undefined]>([
  ['http://127.0.0.1:8000/v1', 'vllm', 'vllm'],
  ['http://gpu.example/v1', 'llama-server', 'llama_server'],
  ['http://gateway.example/v1', 'openai', 'openai'],
  ['https://api.together.example/v1', 'openai', 'together'],
  ['https://mine.openai.azure.example/v1', 'openai', 'azure'],
  ['https://x.googleapis.example/v1', 'openai', 'gemini'],
  // The key of OpenAI is not for another provider that speaks its protocol.
  ['https://api.groq.example/v1', 'openai', undefined],
  ['http://gpu.example/v1', 'sglang', undefined],
  ['http://gpu.example/v1', 'ollama', undefined],
])('at %s, of kind %s, the key of %s is used', (url, kind, provider) => {
  expect(callerKeyFor(keys, { url }, kind)).toBe(provider === undefined ? undefined : `key of ${provider}`)
  expect(callerKeyFor(onlyPassthrough, { url }, kind)).toBe('key of passthrough')
})
