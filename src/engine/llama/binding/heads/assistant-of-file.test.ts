import { expect, test } from 'vitest'
import { problemOfAssistant } from './assistant-of-file.ts'

const lengths = { key_length: 512, key_length_swa: 256 }

/** As far as their files differ: the model of 26B has one key for four heads in some layers, and for two in others. */
function problemWith({ model = {}, own = {} }: { readonly model?: object; readonly own?: object }): string | undefined {
  const itsWindows = { head_count: 16, head_count_kv: [8, 2, 8, 2], sliding_window_pattern: [true, false, true, false] }
  const attention = { head_count: 16, head_count_kv: [8, 2], sliding_window_pattern: [true, false] }
  const file = (architecture: string, facts: object) =>
    ({ metadata: { general: { architecture }, [architecture]: facts } }) as unknown as Parameters<typeof problemOfAssistant>[0]
  return problemOfAssistant(
    file('gemma4-assistant', {
      ...{ block_count: 2, nextn_predict_layers: 2, embedding_length: 1024, embedding_length_out: 2816 },
      attention: { ...lengths, ...attention, ...own },
    }),
    file('gemma4', { block_count: 4, embedding_length: 2816, attention: { ...lengths, ...itsWindows, ...model } }),
  )
}

test.each([
  ['that fits', {}, undefined],
  ['that only has windows', { own: { sliding_window_pattern: [true, true] } }, undefined],
  [
    'with keys of another length in windows',
    { own: { key_length_swa: 128 } },
    'for keys of the length 128, and this model has 256',
  ],
  ['with a part of the heads', { own: { head_count: 12 } }, "12 heads for the model's 8"],
  ['with heads of its own in each layer', { own: { head_count: [16, 3] } }, "3 heads for the model's 2"],
  [
    'of a model whose last layer has a window',
    { model: { sliding_window_pattern: [true, false, false, true] } },
    'for a model with a window in its second last layer only',
  ],
  [
    'of a model that does not say its lengths',
    { model: { key_length: undefined } },
    'for keys of the length 512, and this model has NaN',
  ],
])('an assistant %s is refused where llama.cpp would abort', (_, given, problem) => {
  expect(problemWith(given)).toBe(problem)
})
