import { expect, test } from 'vitest'
import { placeWeights } from './place-weights.ts'

const kinds = { processor: 0, own: 1, sharing: 2 } as const
type Found = readonly [kind: keyof typeof kinds, freeBytes: number]

function machineWith(...devices: readonly Found[]) {
  const at = (device: unknown) => devices[Number(device)] as Found
  return {
    deviceCount: () => devices.length,
    device: (index: number) => BigInt(index),
    deviceName: (device: unknown) => `GPU${device}`,
    deviceDescription: () => 'a GPU',
    deviceKind: (device: unknown) => kinds[at(device)[0]],
    deviceMemory: (device: unknown, free: BigUint64Array) => {
      free[0] = BigInt(at(device)[1])
    },
  } as unknown as Parameters<typeof placeWeights>[0]
}

const layer = { bytes: 100, expertBytes: 0 }
const weights = { layers: [layer, layer, layer], outputBytes: 100, contextBytesOfLayer: 0, workBytes: 0 }

test('layers are divided among the GPUs that have memory of their own', () => {
  const library = machineWith(['processor', 1e6], ['sharing', 1e6], ['own', 120], ['own', 240])
  const { gpuLayers, placement } = placeWeights(library, { weights })
  expect(gpuLayers).toBe(3)
  expect(placement).toMatchObject({ devices: [2n, 3n], tensorSplit: [1, 2], experts: 0 })
})

test('one that shares the memory of the machine is used where it is named, or alone', () => {
  const beside = machineWith(['own', 120], ['sharing', 1e6])
  expect(placeWeights(beside, { weights, placement: { devices: ['GPU1'] } })).toMatchObject({
    gpuLayers: 4,
    placement: { devices: [1n] },
  })
  expect(placeWeights(beside, { weights }).gpuLayers).toBe(0)
  expect(placeWeights(machineWith(['sharing', 1e6]), { weights }).gpuLayers).toBe(4)
})

test('the main GPU has all of it', () => {
  const { gpuLayers, placement } = placeWeights(machineWith(['own', 1e6], ['own', 500]), { weights, placement: { mainGpu: 1 } })
  expect(gpuLayers).toBe(4)
  expect(placement).toMatchObject({ mainGpu: 1, tensorSplit: undefined })
})
