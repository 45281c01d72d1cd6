import { describe, expect, test } from 'vitest'
import { parseSource } from './sources.ts'
import { suggestModels } from './suggested-models.ts'

describe('the best model for a machine', () => {
  test.each([
    [32e9, 2, 'Qwen3 1.7B'],
    [32e9, 4, 'Qwen3 4B'],
    [64e9, 4, 'Qwen3 Coder 30B A3B'],
    [32e9, 1, undefined],
  ])('the best model with %s bytes of memory and %s cores: %s', (memoryBytes, cores, name) => {
    expect(suggestModels({ memoryBytes, cores })[0]?.name).toBe(name)
  })

  test.each([
    [2e9, undefined],
    [4e9, 'Qwen3 1.7B'],
    [8e9, 'Qwen3 4B'],
    [16e9, 'Qwen3 8B'],
    [32e9, 'Qwen3 14B'],
    [64e9, 'Qwen3 32B'],
    [1e12, 'Qwen3 32B'],
  ])('the best model with %s bytes of memory and any number of cores: %s', (memoryBytes, name) => {
    const [found] = suggestModels({ memoryBytes, cores: 1000 })
    expect(found?.name).toBe(name)
    if (found !== undefined) expect(parseSource(found.source)).toMatchObject({ type: 'hf-repository' })
  })

  test.each([
    [16e9, 8e9, 'Qwen3 8B'],
    [64e9, 24e9, 'Qwen3 32B'],
    [16e9, 24e9, 'Qwen3 8B'],
    [16e9, 1e9, 'Qwen3 1.7B'],
  ])('with %s bytes of memory, %s on a GPU and two cores: %s', (memoryBytes, gpuBytes, name) => {
    expect(suggestModels({ memoryBytes, cores: 2, gpuBytes })[0]?.name).toBe(name)
  })
})

test('the context that is needed counts', () => {
  const machine = { memoryBytes: 8e9, cores: 1000 }
  expect(suggestModels(machine).map(({ name }) => name)).toEqual(['Qwen3 4B', 'Qwen3 1.7B'])
  expect(suggestModels(machine, 24_400).map(({ name }) => name)).toEqual(['Qwen3 1.7B'])
  // Longer than most were trained for.
  expect(suggestModels({ memoryBytes: 1e12, cores: 1000 }, 50_000).map(({ name }) => name)).toEqual(['Qwen3 Coder 30B A3B'])
})
