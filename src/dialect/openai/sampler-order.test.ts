import { expect, test } from 'vitest'
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
  ['a sampler that is off, in any place', { sampler_order: ['xtc', 'top_k', 'top_p', 'min_p', 'temperature'] }, true],
])('%s is kept', (_, wire, temperatureLast) => {
  const isTold = temperatureLast !== undefined
  expect(decodeSamplerOrder(wire)).toEqual({ ...(isTold && { temperatureLast }), off: {}, isKept: true })
})

test.each<[string, Wire]>([
  ['two that cut, the other way round', { sampler_order: [6, 2, 0, 5] }],
  ["KoboldCpp's numbers for typical and top_k, the other way round", { sampler_order: [6, 4, 0, 5], typical: 0.5 }],
  ['temperature between two that cut', { sampler_priority: ['top_k', 'temperature', 'top_p'] }],
])('%s is not kept: temperature comes last', (_, wire) => {
  expect(decodeSamplerOrder(wire)).toEqual({ temperatureLast: true, off: {}, isKept: false })
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

test('an empty list, and none, say nothing', () => {
  expect(decodeSamplerOrder({ samplers: [] })).toBeUndefined()
  expect(decodeSamplerOrder({})).toBeUndefined()
})
