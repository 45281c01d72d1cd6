import { expect, test } from 'vitest'
import { bytesOnGpu, fitWeights, usedUnnamed } from './fit-weights.ts'

const rest = { outputBytes: 10, contextBytesOfLayer: 1, workBytes: 5 }
/** Four layers of 20 bytes, of which experts have 15. */
const mixture = { ...rest, layers: Array.from({ length: 4 }, () => ({ bytes: 20, expertBytes: 15 })) }
const dense = { ...rest, layers: Array.from({ length: 4 }, () => ({ bytes: 20, expertBytes: 0 })) }
/** So that this many bytes may be used. */
const room = (bytes: number) => Math.ceil(bytes / 0.9)

test.each([
  ['all of it fits', mixture, 99, { gpuLayers: 5, experts: 0, gpuBytes: 99 }],
  ['a byte is missing', mixture, 98, { gpuLayers: 5, experts: 1, gpuBytes: 84 }],
  ['half of the experts fit', mixture, 70, { gpuLayers: 5, experts: 2, gpuBytes: 69 }],
  ['the experts do not fit', mixture, 39, { gpuLayers: 5, experts: 4, gpuBytes: 39 }],
  ['two layers fit without their experts', mixture, 30, { gpuLayers: 3, experts: 4, gpuBytes: 27 }],
  ['nothing fits', mixture, 15, { gpuLayers: 0, experts: 0, gpuBytes: 0 }],
  ['three layers of a model without experts fit', dense, 80, { gpuLayers: 4, experts: 0, gpuBytes: 78 }],
])('where %s, the weights are placed so', (_, weights, bytes, fit) => {
  expect(fitWeights(weights, [room(bytes)])).toEqual(fit)
})

/** llama.cpp would give each of two equal GPUs half of the layers, of which the last ones alone have their experts there. */
test.each([
  ['all of it fits', mixture, [99, 99], { gpuLayers: 5, experts: 0, gpuBytes: 104, split: [2, 3] }],
  ['the experts of a layer do not fit', mixture, [45, 58], { gpuLayers: 5, experts: 1, gpuBytes: 89, split: [2, 3] }],
  ['the first has room for layers without experts', mixture, [30, 42], { gpuLayers: 5, experts: 3, gpuBytes: 59, split: [3, 2] }],
  ['the second has no room', dense, [99, 4], { gpuLayers: 5, experts: 0, gpuBytes: 99, split: [5, 0] }],
  ['a part of a model without experts fits', dense, [26, 36], { gpuLayers: 3, experts: 0, gpuBytes: 62, split: [1, 2] }],
  ['nothing fits', dense, [15, 15], { gpuLayers: 0, experts: 0, gpuBytes: 0 }],
])('where %s on two GPUs, each gets layers that fit', (_, weights, bytes, fit) => {
  expect(fitWeights(weights, bytes.map(room))).toEqual(fit)
})

test('a GPU that shares the memory of the machine is not used beside others, unless it is named', () => {
  const own: { readonly name: string; readonly isShared?: true } = { name: 'a' }
  const shared = { name: 'b', isShared: true } as const
  expect(usedUnnamed([shared, own])).toEqual([own])
  expect(usedUnnamed([shared])).toEqual([shared])
})

test('a number of layers takes the memory of the output, then of the last layers', () => {
  expect([0, 1, 4, 5, 99].map((layers) => bytesOnGpu(dense, layers))).toEqual([0, 15, 78, 99, 99])
})
