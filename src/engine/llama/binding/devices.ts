import type { Device } from '../../../contract/engine.ts'
import type { Library } from './library.ts'

type Devices = Pick<Library, 'deviceCount' | 'device' | 'deviceName' | 'deviceDescription' | 'deviceKind' | 'deviceMemory'>

/** `GGML_BACKEND_DEVICE_TYPE_GPU`, with memory of its own, and `_IGPU`, which shares the machine's. */
const [own, sharing] = [1, 2]

/** The GPUs that llama.cpp has found, with their memory as it is now. */
export function gpusOf(library: Devices): Device[] {
  return devicesOf(library)
    .filter(isGpu)
    .map(({ kind: _, ...device }) => device)
}

export function isGpu({ kind }: { readonly kind: number }): boolean {
  return kind === own || kind === sharing
}

/** All that llama.cpp computes on, the processor too. */
export function devicesOf(library: Devices): (Device & { readonly kind: number })[] {
  const free = new BigUint64Array(1)
  const total = new BigUint64Array(1)
  return Array.from({ length: library.deviceCount() }, (_, index) => {
    const device = library.device(index)
    library.deviceMemory(device, free, total)
    return {
      name: library.deviceName(device),
      description: library.deviceDescription(device),
      kind: library.deviceKind(device),
      ...(library.deviceKind(device) === sharing && { isShared: true as const }),
      freeBytes: Number(free[0]),
      totalBytes: Number(total[0]),
    }
  })
}
