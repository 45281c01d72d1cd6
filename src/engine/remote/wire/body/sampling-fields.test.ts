import { expect, test } from 'vitest'
import { type GenerationRequest, plainChat, plainRequest } from '../../../../contract/request.ts'
import type { Sampling } from '../../../../contract/sampling.ts'
import type { ProfileName } from '../../servers/profile.ts'
import { profiles } from '../../servers/profiles.ts'
import { sharedFields } from './sampling-fields.ts'

function fieldsOf(kind: ProfileName, options: Partial<GenerationRequest> = {}): Readonly<Record<string, unknown>> {
  const prompt = { type: 'chat', ...plainChat, messages: [] } as const
  return sharedFields({ ...plainRequest, id: 'x', model: 'm', prompt, ...options }, profiles[kind])
}

test.each<[ProfileName, Record<string, unknown>]>([
  ['vllm', { top_k: 5, min_p: 0.1, repetition_penalty: 1.1, max_tokens: 9, ignore_eos: true }],
  ['sglang', { top_k: 5, min_p: 0.1, repetition_penalty: 1.1, max_tokens: 9, ignore_eos: true }],
  ['llama-server', { top_k: 5, min_p: 0.1, repeat_penalty: 1.1, max_tokens: 9, ignore_eos: true }],
  ['dragoman', { top_k: 5, min_p: 0.1, repetition_penalty: 1.1, max_completion_tokens: 9, ignore_eos: true }],
])('%s gets sampling fields under its names', (kind, fields) => {
  const sampling = { topK: 5, minP: 0.1, repetitionPenalty: 1.1 }
  expect(fieldsOf(kind, { sampling, maxOutputTokens: 9, ignoreEos: true })).toMatchObject(fields)
})

test.each<[ProfileName, boolean, 'refused' | undefined]>([
  ['vllm', false, undefined],
  ['vllm', true, 'refused'],
  ['sglang', true, 'refused'],
  ['llama-server', true, undefined],
  ['llama-server', false, 'refused'],
  ['ollama', true, 'refused'],
  ['openai', false, 'refused'],
])('%s has its own place for the temperature: last %s is %s', (kind, temperatureLast, outcome) => {
  const send = (temperature: number) => fieldsOf(kind, { sampling: { temperature, temperatureLast } })
  expect(send(1)).not.toHaveProperty('temperature_last')
  if (outcome === undefined) expect(send(0.5)).not.toHaveProperty('temperature_last')
  else expect(() => send(0.5)).toThrow(expect.objectContaining({ at: ['sampling', 'temperatureLast'] }))
})

test.each<[Sampling, object, string[]]>([
  [{ typicalP: 0.5 }, { typical_p: 0.5 }, ['typicalP']],
  [{ topNSigma: 1 }, { top_n_sigma: 1 }, ['topNSigma']],
  [
    { dynamicTemperature: { range: 0.5, exponent: 2 } },
    { dynatemp_range: 0.5, dynatemp_exponent: 2 },
    ['dynamicTemperature', 'range'],
  ],
  [{ mirostat: { version: 2, tau: 4 } }, { mirostat: 2, mirostat_tau: 4 }, ['mirostat', 'version']],
  [
    { adaptiveP: { target: 0.3 } },
    { adaptive_target: 0.3, samplers: expect.arrayContaining(['adaptive_p']) },
    ['adaptiveP', 'target'],
  ],
])("%j is for llama.cpp's samplers, and refused elsewhere", (sampling, fields, at) => {
  for (const kind of ['llama-server', 'dragoman'] as const) expect(fieldsOf(kind, { sampling })).toMatchObject(fields)
  expect(() => fieldsOf('vllm', { sampling })).toThrow(expect.objectContaining({ at: ['sampling', ...at] }))
})

test("an order of samplers has llama.cpp's names, and is refused elsewhere", () => {
  const sampling: Sampling = { samplerOrder: ['top-p', 'top-k', 'typical'], adaptiveP: { target: 0.3 } }
  const samplers = ['top_p', 'top_k', 'typ_p', 'adaptive_p']
  for (const kind of ['llama-server', 'dragoman'] as const) expect(fieldsOf(kind, { sampling })).toMatchObject({ samplers })
  expect(() => fieldsOf('vllm', { sampling })).toThrow(expect.objectContaining({ at: ['sampling', 'samplerOrder'] }))
})

test.each<[Sampling, object, string[]]>([
  [{ topA: 0.2 }, { top_a: 0.2 }, ['topA']],
  [{ tailFree: 0.9 }, { tfs: 0.9 }, ['tailFree']],
  [{ smoothing: { factor: 0.3, curve: 2 } }, { smoothing_factor: 0.3, smoothing_curve: 2 }, ['smoothing', 'factor']],
  [{ skew: -1 }, { skew: -1 }, ['skew']],
  [{ repetitionDecay: 9, repetitionRange: 32, repetitionPenalty: 1.1 }, { repetition_decay: 9 }, ['repetitionDecay']],
  [{ bannedStrings: ['a b'] }, { banned_strings: ['a b'] }, ['bannedStrings']],
  [{ healsTokens: true }, { token_healing: true }, ['healsTokens']],
  [{ guidance: { scale: 2, negativePrompt: 'a' } }, { guidance_scale: 2, negative_prompt: 'a' }, ['guidance', 'scale']],
])('%j is for another Dragoman, and refused by llama-server', (sampling, fields, at) => {
  expect(fieldsOf('dragoman', { sampling })).toMatchObject(fields)
  expect(() => fieldsOf('llama-server', { sampling })).toThrow(expect.objectContaining({ at: ['sampling', ...at] }))
})

test('Aphrodite and tabbyAPI get the samplers that they have, by their own names', () => {
  const shared = {
    topA: 0.2,
    tailFree: 0.9,
    smoothing: { factor: 0.3 },
    skew: -1,
    typicalP: 0.5,
    temperature: 0.7,
    temperatureLast: true,
  }
  const fields = { top_a: 0.2, tfs: 0.9, smoothing_factor: 0.3, skew: -1, temperature_last: true }
  const dry = { multiplier: 0.8, range: 64 }
  expect(fieldsOf('aphrodite', { sampling: { ...shared, topNSigma: 1, dry, stopTokens: [3] } })).toMatchObject({
    ...fields,
    typical_p: 0.5,
    nsigma: 1,
    dry_multiplier: 0.8,
    dry_penalty_last_n: 64,
    stop_token_ids: [3],
  })
  const more = { repetitionDecay: 9, bannedStrings: ['a b'], healsTokens: true, repetitionRange: 32, allowedTokens: [1] }
  expect(fieldsOf('tabbyapi', { sampling: { ...shared, ...more, guidance: { scale: 2, negativePrompt: 'a' } } })).toMatchObject({
    ...fields,
    typical: 0.5,
    repetition_decay: 9,
    banned_strings: ['a b'],
    token_healing: true,
    penalty_range: 32,
    allowed_tokens: [1],
    cfg_scale: 2,
    negative_prompt: 'a',
  })
})

test.each<[ProfileName, Sampling, string[]]>([
  ['aphrodite', { bannedStrings: ['a'] }, ['bannedStrings']],
  ['aphrodite', { samplerOrder: ['top-p', 'top-k'] }, ['samplerOrder']],
  ['tabbyapi', { smoothing: { factor: 0.3, curve: 2 } }, ['smoothing', 'factor']],
  ['tabbyapi', { topNSigma: 1 }, ['topNSigma']],
  ['tabbyapi', { seed: 1 }, ['seed']],
])('%s does not have %j, which is refused', (kind, sampling, at) => {
  expect(() => fieldsOf(kind, { sampling })).toThrow(expect.objectContaining({ at: ['sampling', ...at] }))
})

test('allowed tokens and stop tokens have a name of each kind', () => {
  const sampling = { allowedTokens: [1, 2], stopTokens: [3] }
  expect(fieldsOf('vllm', { sampling })).toMatchObject({ allowed_token_ids: [1, 2], stop_token_ids: [3] })
  expect(fieldsOf('dragoman', { sampling })).toMatchObject({ allowed_tokens: [1, 2], stop_token_ids: [3] })
  expect(() => fieldsOf('sglang', { sampling })).toThrow(expect.objectContaining({ at: ['sampling', 'allowedTokens'] }))
  expect(fieldsOf('sglang', { sampling: { stopTokens: [3] } })).toMatchObject({ stop_token_ids: [3] })
  const ended = () => fieldsOf('llama-server', { sampling: { stopTokens: [3] } })
  expect(ended).toThrow(expect.objectContaining({ at: ['sampling', 'stopTokens'] }))
})

test('a guard against loops is for another Dragoman', () => {
  expect(fieldsOf('dragoman', { sampling: { loopWindow: 800 } })).toMatchObject({ loop_detect_window: 800 })
})

test('samplers that are off are left out', () => {
  const sampling = {
    typicalP: 1,
    topNSigma: 0,
    dynamicTemperature: { range: 0 },
    mirostat: { version: 0 },
    adaptiveP: { target: -1 },
    topA: 0,
    tailFree: 1,
    smoothing: { factor: 0, curve: 2 },
    skew: 0,
    repetitionDecay: 0,
    guidance: { scale: 1, negativePrompt: 'a' },
    bannedStrings: [],
    healsTokens: false,
    loopWindow: 800,
  }
  for (const kind of ['vllm', 'ollama'] as const) expect(fieldsOf(kind, { sampling })).toEqual(fieldsOf(kind))
})

test('samplers that are off are sent to a server that may have them on by default', () => {
  const sampling: Sampling = {
    dry: { multiplier: 0, base: 1 },
    xtc: { probability: 0, threshold: 0.1 },
    typicalP: 1,
    topNSigma: -1,
    mirostat: { version: 0, tau: 5 },
    dynamicTemperature: { range: 0, exponent: 1 },
    adaptiveP: { target: -1 },
    topA: 0,
  }
  const off = { dry_multiplier: 0, xtc_probability: 0, typical_p: 1, top_n_sigma: 0, mirostat: 0, dynatemp_range: 0 }
  expect(fieldsOf('llama-server', { sampling })).toEqual({ ...fieldsOf('llama-server'), ...off, adaptive_target: -1 })
  expect(fieldsOf('aphrodite', { sampling: { tailFree: 0, smoothing: { factor: 0, curve: 2 } } })).toEqual({
    ...fieldsOf('aphrodite'),
    tfs: 1,
    smoothing_factor: 0,
  })
})

test('a repetition penalty over no tokens is off where servers have no range', () => {
  const sampling = { repetitionPenalty: 1.2, repetitionRange: 0 }
  expect(fieldsOf('vllm', { sampling })).toMatchObject({ repetition_penalty: 1 })
  expect(fieldsOf('openai', { sampling })).toEqual(fieldsOf('openai'))
  expect(fieldsOf('llama-server', { sampling })).toMatchObject({ repeat_penalty: 1.2, repeat_last_n: 0 })
})

test('another Dragoman gets the place of the temperature', () => {
  expect(fieldsOf('dragoman', { sampling: { temperatureLast: true } })).toMatchObject({ temperature_last: true })
})

test('zero and one are values, and absent fields are not sent', () => {
  const fields = fieldsOf('vllm', { sampling: { temperature: 0, topP: 1, presencePenalty: 0, seed: 0 } })
  expect(fields).toMatchObject({ temperature: 0, top_p: 1, presence_penalty: 0, seed: 0 })
  expect(fields).not.toHaveProperty('frequency_penalty')
  expect(fields).not.toHaveProperty('top_k')
})
