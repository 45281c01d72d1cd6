import { expect, test } from 'vitest'
import { decodeSamplerOrder } from './sampler-order.ts'

type Wire = Parameters<typeof decodeSamplerOrder>[0]

const koboldDefault = [6, 0, 1, 3, 4, 2, 5]
const llamaDefault = ['penalties', 'dry', 'top_n_sigma', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc', 'temperature']
const writersDefault = ['repetition_penalty', 'dry', 'temperature', 'quadratic_sampling', 'top_k', 'top_p', 'min_p', 'xtc']

test.each<[string, Wire, boolean | undefined]>([
  ["KoboldCpp's default", { sampler_order: koboldDefault }, true],
  ["llama.cpp's default", { samplers: llamaDefault, xtc_probability: 0.5, dry_multiplier: 1 }, true],
  ["text-generation-webui's default", { sampler_priority: writersDefault }, false],
  ['… with temperature_last, which wins', { sampler_priority: writersDefault, temperature_last: true }, undefined],
  ['… at temperature 1, which changes nothing', { sampler_priority: writersDefault, temperature: 1 }, undefined],
  ['a sampler that is off, in any place', { samplers: ['xtc', 'top_k', 'top_p', 'min_p', 'temperature'] }, true],
  ['a sampler that is off, left out', { samplers: ['top_p', 'min_p', 'temperature'], top_k: 0 }, true],
  ['no order', { samplers: [] }, undefined],
  ['nothing', {}, undefined],
])('%s', (_, wire, isTemperatureLast) => {
  expect(decodeSamplerOrder(wire)).toBe(isTemperatureLast)
})

test.each<[string, Wire, string]>([
  ['two that cut, the other way round', { sampler_order: [6, 2, 0, 5] }, 'sampler_order [6,2,0,5] is not supported'],
  ['temperature between two that cut', { sampler_priority: ['top_k', 'temperature', 'top_p'] }, 'is not supported'],
  ['one that is on and left out', { samplers: ['top_k', 'temperature'], min_p: 0 }, 'it lacks top_p'],
  ['a sampler that nobody has', { samplers: ['top_k', 'magic'] }, 'samplers: there is no sampler "magic"'],
])('%s is refused', (_, wire, message) => {
  expect(() => decodeSamplerOrder(wire)).toThrow(message)
})
