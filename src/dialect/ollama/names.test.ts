import { expect, test } from 'vitest'
import { readSource, taggedName } from './names.ts'

test.each([
  ['qwen3', 'qwen3:latest'],
  ['qwen3:8b', 'qwen3:8b'],
  ['owner/repo', 'owner/repo:latest'],
  ['host:80/repo', 'host:80/repo:latest'],
])('the id %s is listed as %s', (id, name) => {
  expect(taggedName(id)).toBe(name)
})

test.each([
  ['hf.co/Owner/Repo:Q4_K_M', { name: 'Owner/Repo', variant: 'Q4_K_M' }],
  ['https://huggingface.co/Owner/Repo', { name: 'Owner/Repo' }],
  ['Owner/Repo:latest', { name: 'Owner/Repo' }],
  ['qwen3:8b', { name: 'qwen3:8b' }],
  ['registry.ollama.ai/library/qwen3:8b', { name: 'qwen3:8b' }],
  ['hf:Owner/Repo/file.gguf', { name: 'hf:Owner/Repo/file.gguf' }],
])('a pull of %s fetches %j', (name, source) => {
  expect(readSource(name)).toEqual(source)
})
