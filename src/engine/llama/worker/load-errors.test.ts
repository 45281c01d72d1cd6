import { LlamaLogLevel } from 'node-llama-cpp'
import { expect, test } from 'vitest'
import { LoadErrors } from './load-errors.ts'

function explain(lines: readonly string[], level = LlamaLogLevel.error): string {
  const errors = new LoadErrors()
  for (const line of lines) errors.note(level, line)
  return errors.explain(new Error('Failed to load model'))
}

test.each([
  [
    'an architecture that is not known',
    [
      "llama_model_load: error loading model: unknown model architecture: 'newest'",
      'llama_model_load_from_file_impl: failed to load model',
    ],
    /^Failed to load model: unknown model architecture: 'newest'; this version of llama\.cpp does not know it/,
  ],
  [
    'a cache that does not fit',
    ['llama_init_from_model: K cache type q8_0 with block size 32 does not divide n_embd_head_k=16'],
    /^Failed to load model: K cache type q8_0 with block size 32 does not divide n_embd_head_k=16$/,
  ],
  ['nothing', [], /^Failed to load model$/],
])('a failed load names what llama.cpp logged: %s', (_, lines, expected) => {
  expect(explain(lines)).toMatch(expected)
})

test('a log entry that is not an error is not a reason', () => {
  expect(explain(['print_info: file format = GGUF V3'], LlamaLogLevel.info)).toBe('Failed to load model')
})
