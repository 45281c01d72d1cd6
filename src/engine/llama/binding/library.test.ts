import { expect, test } from 'vitest'
import { openLibrary } from './library.ts'

test('functions of another release are not called', () => {
  const llamaCppRelease = { repo: 'ggml-org/llama.cpp', release: 'v9.9.9' }
  expect(() => openLibrary({ llamaCppRelease })).toThrow(/calls llama.cpp v\S+, but v9.9.9 is installed/)
})
