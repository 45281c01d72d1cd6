import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FinishReason } from '../../../src/contract/event.ts'
import type { GenerationRequest } from '../../../src/contract/request.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { chatRequest, complete } from '../../engine-contract.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
const options = { modelPath: builtinModel.path, slots: 1, contextLength: 512, threads: 1, flashAttention: true }
let engine: LlamaEngine
beforeAll(() => {
  engine = new LlamaEngine({ id: 'm', locate: async () => options, log: quiet })
})
afterAll(() => engine.close())

type Answer = { text: string; reason: FinishReason | undefined; tokens: number }

async function answer(wanted: Partial<GenerationRequest>): Promise<Answer> {
  const request = chatRequest('Hello', { ignoreEos: false, maxOutputTokens: 100, ...wanted })
  const { text, reason, usage } = await complete(engine, request)
  return { text, reason, tokens: usage?.outputTokens ?? Number.NaN }
}

test.each<[string, Partial<GenerationRequest>]>([
  ['the plain way', {}],
  ['with log-probabilities', { logprobs: { top: 1 } }],
  ['with penalties', { sampling: { temperature: 0, presencePenalty: 0.1 } }],
  ['with a biased token', { sampling: { temperature: 0, logitBias: new Map([[5, -100]]) } }],
])('a turn ends only once it has the minimum of tokens, and not before: %s', async (_, wanted) => {
  const free = await answer(wanted)
  expect(free).toMatchObject({ reason: 'stop' })
  expect(free.tokens).toBeLessThan(80)
  expect(await answer({ ...wanted, minOutputTokens: free.tokens })).toEqual(free)
  const longer = await answer({ ...wanted, minOutputTokens: free.tokens + 6 })
  expect(longer.tokens).toBeGreaterThanOrEqual(free.tokens + 6)
  expect(longer.text.startsWith(free.text)).toBe(true)
})

test('a stop sequence ends the output before the minimum', async () => {
  const free = await answer({})
  const cut = await answer({ minOutputTokens: 90, stop: [free.text.slice(2, 5)] })
  expect(cut).toMatchObject({ reason: 'stop', text: free.text.slice(0, 2) })
})

test.each<[string, Partial<GenerationRequest>]>([
  ['the plain way', {}],
  ['with log-probabilities', { logprobs: { top: 1 } }],
  ['with penalties', { sampling: { temperature: 0, presencePenalty: 0.1 } }],
  ['by chance', { sampling: { temperature: 1, topK: 3, seed: 1 } }],
])('a constraint that lets the output go on does not end it: %s', async (_, wanted) => {
  const output = { type: 'gbnf', grammar: 'root ::= [A-Za-z ,.!?]*' } as const
  const held = await answer({ ...wanted, output, minOutputTokens: 50 })
  expect(held.tokens).toBeGreaterThanOrEqual(50)
  expect(await answer({ ...wanted, output, ignoreEos: true })).toMatchObject({ reason: 'length', tokens: 100 })
})

test.each<[string, Partial<GenerationRequest>]>([
  ['a minimum', { minOutputTokens: 90 }],
  ['a minimum and log-probabilities', { minOutputTokens: 90, logprobs: { top: 1 } }],
  ['a turn without an end', { ignoreEos: true }],
  ['a turn without an end, by chance', { ignoreEos: true, sampling: { temperature: 1, topK: 3, seed: 1 } }],
])('what a constraint ends is ended, also with %s', async (_, wanted) => {
  const output = { type: 'regex', pattern: 'yes|no' } as const
  // The model may think before.
  const { reason, text } = await answer({ ...wanted, output })
  expect([reason, text]).toEqual(['stop', expect.stringMatching(/(?:^|\s)(?:yes|no)$/)])
})
