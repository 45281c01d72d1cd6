import { expect, test } from 'vitest'
import { findProjector } from './find-projector.ts'

test.each<[string, string, readonly string[], string | undefined]>([
  ['beside the only model', 'm-Q4_K_M.gguf', ['m-Q4_K_M.gguf', 'mmproj-F16.gguf'], 'mmproj-F16.gguf'],
  ['beside several quantizations of it', 'm-Q4_K_M.gguf', ['m-Q4_K_M.gguf', 'm-UD-Q8_0.gguf', 'mmproj.gguf'], 'mmproj.gguf'],
  ['not beside another model', 'm-Q4_K_M.gguf', ['m-Q4_K_M.gguf', 'n-Q4_K_M.gguf', 'mmproj-F16.gguf'], undefined],
  [
    'named after it, beside others',
    'qwen2-vl-2b-Q4_K_M.gguf',
    ['qwen2-vl-2b-Q4_K_M.gguf', 'n.gguf', 'mmproj-Qwen2-VL-2B-f16.gguf', 'mmproj-n-f16.gguf'],
    'mmproj-Qwen2-VL-2B-f16.gguf',
  ],
  ['with its word last', 'm-Q8_0.gguf', ['m-Q8_0.gguf', 'n-Q8_0.gguf', 'm-mmproj-Q8_0.gguf'], 'm-mmproj-Q8_0.gguf'],
  [
    'in 16 bits, if there is a choice',
    'm.gguf',
    ['m.gguf', 'mmproj-F32.gguf', 'mmproj-BF16.gguf', 'mmproj-F16.gguf', 'mmproj-Q8_0.gguf'],
    'mmproj-F16.gguf',
  ],
  [
    'of a model in parts',
    'm-Q8_0-00001-of-00002.gguf',
    ['m-Q8_0-00001-of-00002.gguf', 'm-Q8_0-00002-of-00002.gguf', 'mmproj.gguf'],
    'mmproj.gguf',
  ],
  ['in its own folder first', 'a/m.gguf', ['mmproj-F16.gguf', 'a/m.gguf', 'a/mmproj-F32.gguf'], 'a/mmproj-F32.gguf'],
  ['nowhere', 'm.gguf', ['m.gguf', 'mmproj.safetensors', 'imatrix.gguf'], undefined],
])('a projector is found %s', (_, model, files, expected) => {
  expect(findProjector(files, model)).toBe(expected)
})

test('one of a repository needs no name of the model', () => {
  const files = ['m-Q4_K_M.gguf', 'mtp-Q4_K_M.gguf', 'mmproj-other-F16.gguf']
  expect(findProjector(files, 'm-Q4_K_M.gguf')).toBeUndefined()
  expect(findProjector(files, 'm-Q4_K_M.gguf', { isOneModel: true })).toBe('mmproj-other-F16.gguf')
})
