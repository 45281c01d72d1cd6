import { devicesOf, isGpu } from '../../binding/devices.ts'
import type { Library } from '../../binding/library.ts'
import type { Placement } from '../../binding/placement.ts'
import { fitWeights, usedUnnamed } from '../../channel/fit-weights.ts'
import type { LoadOptions } from '../../channel/ipc.ts'

type Devices = Parameters<typeof devicesOf>[0] & Pick<Library, 'device'>
type Placed = { readonly gpuLayers: LoadOptions['gpuLayers']; readonly placement: Placement }

/** Where the weights go: as configured, or what fits the free memory of the GPUs. Throws for devices that are not here. */
export function placeWeights(
  library: Devices,
  { placement = {}, gpuLayers, weights }: Pick<LoadOptions, 'placement' | 'gpuLayers' | 'weights'>,
): Placed {
  const gpus = devicesOf(library).flatMap((device, index) =>
    isGpu(device) ? [{ ...device, handle: library.device(index) }] : [],
  )
  const { devices: names, tensorSplit, mainGpu, lock, experts } = placement
  const found = gpus.length === 0 ? 'no GPU here' : gpus.map(({ name, description }) => `${name} (${description})`).join(', ')
  const used = names?.map((name) => {
    const one = gpus.find((gpu) => gpu.name === name)
    if (one === undefined) throw new Error(`\`devices\` names ${name}, and llama.cpp finds ${found}`)
    return one
  })
  const available = used ?? usedUnnamed(gpus)
  if ((tensorSplit ?? []).length > available.length) {
    throw new Error(`\`tensorSplit\` has ${tensorSplit?.length} shares, and llama.cpp finds ${found}`)
  }
  if (mainGpu !== undefined && mainGpu >= available.length) {
    throw new Error(`\`mainGpu\` is ${mainGpu}, counted from 0, and llama.cpp finds ${found}`)
  }
  const fixed = { devices: used?.map(({ handle }) => handle), tensorSplit, mainGpu, lock }
  if (weights === undefined || available.length === 0) {
    return { gpuLayers, placement: { ...fixed, experts: experts === 'cpu' ? 'all' : experts } }
  }
  const freeBytes = (mainGpu === undefined ? available : available.slice(mainGpu, mainGpu + 1)).map((gpu) => gpu.freeBytes)
  const { gpuLayers: fitting, experts: without, split } = fitWeights(weights, freeBytes)
  const divided = split && { devices: available.map(({ handle }) => handle), tensorSplit: split }
  return { gpuLayers: fitting, placement: { ...fixed, ...divided, experts: without } }
}
