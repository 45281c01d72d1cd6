import { expect, test } from 'vitest'
import { samplerOrder } from '../../canonical/sampler-order.ts'
import { decodeSamplerOrder } from './sampler-order.ts'

type Wire = Parameters<typeof decodeSamplerOrder>[0]

const koboldDefault = [6, 0, 1, 3, 4, 2, 5]
const llamaDefault = ['penalties', 'dry', 'top_n_sigma', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc', 'temperature']
const writersDefault = ['repetition_penalty', 'dry', 'temperature', 'quadratic_sampling', 'top_k', 'top_p', 'min_p', 'xtc']

test.each<[string, Wire, boolean | undefined]>([
  ["KoboldCpp's default", { sampler_order: koboldDefault, typical: 0.5 }, true],
  ["llama.cpp's default", { samplers: llamaDefault, xtc_probability: 0.5, dry_multiplier: 1, typ_p: 0.5, nsigma: 1 }, true],
  ["text-generation-webui's default", { sampler_priority: writersDefault }, false],
  ['… with temperature_last, which wins', { sampler_priority: writersDefault, temperature_last: true }, undefined],
  ['… at temperature 1, which changes nothing', { sampler_priority: writersDefault, temperature: 1 }, undefined],
  [
    'llama.cpp’s default in its other spellings',
    {
      samplers: ['penalties', 'dry', 'top-n-sigma', 'top-k', 'typ-p', 'nucleus', 'min-p', 'xtc', 'temp'],
      xtc_probability: 0.5,
      dry_multiplier: 1,
      typ_p: 0.5,
      nsigma: 1,
    },
    true,
  ],
  ['… and as a text of them', { samplers: 'penalties;top-k;typical-p;nucleus;min-p;temp' }, true],
  ['a sampler that is off, in any place', { sampler_order: ['xtc', 'top_k', 'top_p', 'min_p', 'temperature'] }, true],
])('%s is kept', (_, wire, temperatureLast) => {
  const isTold = temperatureLast !== undefined
  expect(decodeSamplerOrder(wire)).toEqual({ ...(isTold && { temperatureLast }), off: {} })
})

test.each<[string, Wire, readonly string[]]>([
  ['two that cut, the other way round', { sampler_order: [2, 0, 5] }, ['top-p', 'min-p', 'xtc', 'top-k']],
  [
    "KoboldCpp's numbers for typical and top_k, the other way round",
    { sampler_order: [6, 4, 0, 5], typical: 0.5 },
    ['typical', 'top-p', 'min-p', 'xtc', 'top-k'],
  ],
  [
    'temperature between two that cut',
    { sampler_priority: ['top_k', 'temperature', 'quadratic_sampling', 'top_p'] },
    ['top-k', 'top-a', 'tail-free', 'typical', 'temperature', 'smoothing', 'top-p', 'min-p', 'xtc'],
  ],
  [
    "text-generation-webui's default, with samplers whose place is another one",
    { sampler_priority: [...writersDefault, 'tfs', 'top_a'], tfs: 0.9, top_a: 0.1 },
    ['temperature', 'smoothing', 'top-k', 'top-p', 'min-p', 'xtc', 'tail-free', 'typical', 'top-a'],
  ],
  [
    'the temperature, which another field puts last',
    { sampler_priority: ['temperature', 'top_p', 'top_k'], temperature_last: true },
    ['top-p', 'min-p', 'xtc', 'top-k', 'top-a', 'tail-free', 'typical', 'temperature', 'smoothing'],
  ],
])('%s: the order of all samplers', (_, wire, named) => {
  const order = decodeSamplerOrder(wire)
  expect(order?.temperatureLast).toBeUndefined()
  expect(order?.order?.filter((sampler) => named.includes(sampler))).toEqual(named)
  expect(new Set(order?.order)).toEqual(new Set(samplerOrder))
})

test("llama.cpp's list switches off what it lacks", () => {
  expect(decodeSamplerOrder({ samplers: ['top_k', 'top_p', 'infill'] })?.off).toEqual({
    repetitionPenalty: 1,
    presencePenalty: 0,
    frequencyPenalty: 0,
    minP: 0,
    temperature: 1,
  })
})

test("llama.cpp's list switches off typical and top-n-sigma, where the body sets them", () => {
  expect(decodeSamplerOrder({ samplers: ['temperature'], typical_p: 0.5, nsigma: 2 })?.off).toMatchObject({
    typicalP: 1,
    topNSigma: 0,
  })
})

test.each<[string, Wire]>([
  ["llama.cpp's letters, as llama-vscode sends them", { samplers: 'edkypmxt' }],
  ['letters in a list', { samplers: ['e', 'd', 'k', 'y', 'p', 'm', 'x', 't'] }],
  ['names with commas', { samplers: 'penalties, dry, top_k, typ_p, top_p, min_p, xtc, temperature' }],
  ['names with semicolons', { samplers: 'penalties;dry;top_k;typ_p;top_p;min_p;xtc;temperature' }],
  ["KoboldCpp's numbers with commas", { sampler_order: '6,0,1,3,4,2,5' }],
])('%s are a list', (_, wire) => {
  expect(decodeSamplerOrder(wire)).toEqual({ temperatureLast: true, off: {} })
})

test('a text of letters switches off what it lacks', () => {
  expect(decodeSamplerOrder({ samplers: 'k' })?.off).toMatchObject({ temperature: 1, topP: 1 })
})

test.each(['constructor', '__proto__'])('%s, which each object has, is not a sampler', (name) => {
  expect(decodeSamplerOrder({ samplers: ['top_k', name] })).toEqual(decodeSamplerOrder({ samplers: ['top_k'] }))
})

test('a text of one name is that sampler, not its letters', () => {
  expect(decodeSamplerOrder({ samplers: 'temperature' })?.off).toMatchObject({ topK: 0, topP: 1, minP: 0 })
})

test('an empty list, and none, say nothing', () => {
  expect(decodeSamplerOrder({ samplers: [] })).toBeUndefined()
  expect(decodeSamplerOrder({})).toBeUndefined()
})
