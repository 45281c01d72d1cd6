import { expect, test } from 'vitest'
import type { Sampling } from '../src/contract/sampling.ts'
import { decodeKobold } from '../src/dialect/kobold/decode.ts'
import { decodeInfill, decodeCompletion as decodeLlama } from '../src/dialect/llama-server/decode.ts'
import { decodeChat } from '../src/dialect/openai-chat/decode.ts'
import { decodeCompletion } from '../src/dialect/openai-completions/decode.ts'
import { decode as decodeResponse } from '../src/dialect/openai-responses/__fixtures__/decode.ts'

const model = 'm'
/** The routes whose bodies have the sampling fields of local servers. */
const readers: Readonly<Record<string, (fields: object) => Sampling>> = {
  completions: (fields) => decodeCompletion({ model, prompt: 'a', ...fields }, 'id').requests[0].sampling,
  '/completion': (fields) => decodeLlama({ model, prompt: 'a', ...fields }, 'id').requests[0].sampling,
  '/infill': (fields) => decodeInfill({ model, input_prefix: 'a', input_suffix: 'b', ...fields }, 'id').requests[0].sampling,
  Kobold: (fields) => decodeKobold({ model, prompt: 'a', ...fields }, 'id').requests[0].sampling,
  Responses: (fields) => decodeResponse({ model, ...fields }).request.sampling,
}

test.each([
  { samplers: 'edkypmxt' },
  { samplers: 'kpm', top_k: 5 },
  { samplers: ['top_k', 'p'] },
  { sampler_order: [6, 0, 1, 3, 4, 2, 5] },
  { logit_bias: [[5, false], [7, 1.5]] }, // biome-ignore format: one line
  { logit_bias: { 5: false, 7: 1.5 } },
  { dry_multiplier: 1, dry_sequence_breakers: '"a", "b"' },
  { mirostat: true },
])('every route reads %j alike', (fields) => {
  const messages = [{ role: 'user', content: 'a' }]
  const expected = decodeChat({ model, messages, ...fields }, 'id').request.sampling
  expect(expected).not.toEqual({})
  for (const [route, read] of Object.entries(readers)) expect(read(fields), route).toEqual(expected)
})
