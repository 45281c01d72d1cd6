/** The weights of a model, as far as their place is chosen. */
export type Weights = {
  /** The bytes of each layer, and those of its experts. */
  readonly layers: readonly { readonly bytes: number; readonly expertBytes: number }[]
  /** What computes the output, which moves to the GPU with the last layer. */
  readonly outputBytes: number
  /** The part of all contexts that a layer on the GPU keeps there. */
  readonly contextBytesOfLayer: number
  /** The buffers of a step. */
  readonly workBytes: number
}

/**
 * Layers on GPUs, and the first layers whose experts stay in the memory of the machine. `split`: how many of the layers each of several GPUs
 * gets, with the output as one.
 */
export type Fit = {
  readonly gpuLayers: number
  readonly experts: number
  readonly gpuBytes: number
  readonly split?: readonly number[]
}

/** The share of free memory that is filled at most: drivers and the system need some. */
const shareOfFree = 0.9
const shareStep = 0.05

/** llama.cpp uses a GPU that shares the memory of the machine only if it is named, or where there is no other. */
export function usedUnnamed<T extends { readonly isShared?: true }>(gpus: readonly T[]): readonly T[] {
  const own = gpus.filter(({ isShared }) => isShared !== true)
  return own.length > 0 ? own : gpus
}

/**
 * Places weights in the free memory of GPUs: all layers, if they fit; otherwise without the experts of the first layers, as few as possible;
 * otherwise without experts as many layers as fit. An expert is read for few tokens, attention for all. llama.cpp would give each GPU a part
 * of the layers by its free memory, also where the first of them have no experts there; here GPUs are filled about equally.
 */
export function fitWeights({ layers, outputBytes, contextBytesOfLayer, workBytes }: Weights, freeBytes: readonly number[]): Fit {
  /** Whether these layers fit, the last ones, without the experts of the first layers of the model. */
  const fitOf = (count: number, experts: number): Fit | undefined => {
    const kept = layers.map(({ bytes, expertBytes }, index) => bytes - (index < experts ? expertBytes : 0) + contextBytesOfLayer)
    const parts = [...kept.slice(layers.length - count), outputBytes]
    const divided = (share: number) =>
      divide(
        parts,
        freeBytes.map((bytes) => bytes * share - workBytes),
      )
    let split = divided(shareOfFree)
    if (split === undefined) return undefined
    for (let share = shareOfFree - shareStep; freeBytes.length > 1 && share > 0; share -= shareStep)
      split = divided(share) ?? split
    const used = split.filter((number) => number > 0).length
    const fit = { gpuLayers: count + 1, experts, gpuBytes: sum(parts) + used * workBytes }
    return freeBytes.length > 1 ? { ...fit, split } : fit
  }
  for (let experts = 0; experts <= layers.length; experts += 1) {
    const fit = fitOf(layers.length, experts)
    if (fit !== undefined) return fit
  }
  const experts = layers.some(({ expertBytes }) => expertBytes > 0) ? layers.length : 0
  for (let count = layers.length - 1; count > 0; count -= 1) {
    const fit = fitOf(count, experts)
    if (fit !== undefined) return fit
  }
  return { gpuLayers: 0, experts: 0, gpuBytes: 0 }
}

/** How many parts go to each room, in order; undefined: they do not fit. */
function divide(parts: readonly number[], rooms: readonly number[]): readonly number[] | undefined {
  const counts = rooms.map(() => 0)
  let [room, taken] = [0, 0]
  for (const part of parts) {
    while (room < rooms.length && taken + part > (rooms[room] as number)) [room, taken] = [room + 1, 0]
    if (room === rooms.length) return undefined
    counts[room] = (counts[room] as number) + 1
    taken += part
  }
  return counts
}

/** The memory that a number of layers take: llama.cpp moves the output first, then the layers from the last on. */
export function bytesOnGpu({ layers, outputBytes, contextBytesOfLayer, workBytes }: Weights, gpuLayers: number): number {
  if (gpuLayers === 0) return 0
  const moved = layers.slice(Math.max(0, layers.length - (gpuLayers - 1)))
  return outputBytes + sum(moved.map(({ bytes }) => bytes + contextBytesOfLayer)) + workBytes
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
