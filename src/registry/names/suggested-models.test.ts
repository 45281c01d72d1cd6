import { expect, test } from 'vitest'
import { parseSource } from './sources.ts'
import { suggestModel } from './suggested-models.ts'

test.each([
  [32e9, 2, 'Qwen3 1.7B'],
  [32e9, 4, 'Qwen3 4B'],
  [64e9, 16, 'Qwen3 14B'],
  [32e9, 1, undefined],
])('with %s bytes of memory and %s cores: %s', (memoryBytes, cores, name) => {
  expect(suggestModel(memoryBytes, cores)?.name).toBe(name)
})

test.each([
  [2e9, undefined],
  [4e9, 'Qwen3 1.7B'],
  [8e9, 'Qwen3 4B'],
  [16e9, 'Qwen3 8B'],
  [32e9, 'Qwen3 14B'],
  [64e9, 'Qwen3 32B'],
  [1e12, 'Qwen3 32B'],
])('with %s bytes of memory and any number of cores: %s', (memoryBytes, name) => {
  const found = suggestModel(memoryBytes, 1000)
  expect(found?.name).toBe(name)
  if (found !== undefined) expect(parseSource(found.source)).toMatchObject({ type: 'hf' })
})
