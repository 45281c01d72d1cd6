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

/** Layers on the GPU, and the first layers whose experts stay in the memory of the machine. */
export type Fit = { readonly gpuLayers: number; readonly experts: number; readonly gpuBytes: number }

/** The share of free memory that is filled: drivers and the system need some. */
const shareOfFree = 0.9

/**
 * Places weights in the free memory of GPUs: all layers, if they fit; otherwise without the experts of the first layers, as few as possible;
 * otherwise without experts as many layers as fit. An expert is read for few tokens, attention for all.
 */
export function fitWeights({ layers, outputBytes, contextBytesOfLayer, workBytes }: Weights, freeBytes: number): Fit {
  const room = freeBytes * shareOfFree - workBytes
  const expertBytes = layers.map((layer) => layer.expertBytes)
  const withoutExperts = sum(layers.map((layer) => layer.bytes - layer.expertBytes + contextBytesOfLayer)) + outputBytes
  const all = { gpuLayers: layers.length + 1 }
  const fits = (experts: number) => withoutExperts + sum(expertBytes.slice(experts)) <= room
  for (let experts = 0; experts <= layers.length; experts += 1) {
    if (!fits(experts)) continue
    return { ...all, experts, gpuBytes: withoutExperts + sum(expertBytes.slice(experts)) + workBytes }
  }
  const experts = sum(expertBytes) === 0 ? 0 : layers.length
  let [gpuLayers, taken] = [0, outputBytes]
  // llama.cpp moves the output first, then the layers from the last on.
  for (const layer of layers.toReversed()) {
    const more = layer.bytes - layer.expertBytes + contextBytesOfLayer
    if (taken + more > room) break
    taken += more
    gpuLayers += 1
  }
  return gpuLayers === 0
    ? { gpuLayers, experts: 0, gpuBytes: 0 }
    : { gpuLayers: gpuLayers + 1, experts, gpuBytes: taken + workBytes }
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
