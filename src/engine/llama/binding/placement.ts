import { addressOf, type Device, type Library, type Params } from './library.ts'

/** `enum llama_load_mode` and `enum llama_split_mode` */
const loadModes = { read: 0, map: 1, readAndLock: 2, mapAndLock: 3 }
const splitModes = { none: 0, byLayer: 1 }

/** Where a model's weights are, besides the number of layers on GPUs. */
export type Placement = {
  /** Whose experts stay in the memory of the machine: of this many layers, from the first on. */
  readonly experts?: number | 'all' | undefined
  /** Absent: all. */
  readonly devices?: readonly Device[] | undefined
  readonly tensorSplit?: readonly number[] | undefined
  readonly mainGpu?: number | undefined
  readonly lock?: boolean | undefined
}

/** The weights of experts, as llama.cpp's `--cpu-moe` finds them. */
const ofExperts = '\\.ffn_(up|down|gate|gate_up)_(ch|)exps'

/** Parameters for llama.cpp, which point to memory of this thread; it is released when the model is loaded. */
export function placementParams(
  library: Pick<Library, 'cpuMemory' | 'mostDevices'>,
  { experts = 0, devices, tensorSplit, mainGpu, lock = false }: Placement,
  { maps }: { readonly maps: boolean },
): { readonly params: Params; release(): void } {
  const patterns = experts === 'all' ? [ofExperts] : Array.from({ length: experts }, (_, layer) => `blk\\.${layer}${ofExperts}`)
  const texts = patterns.map((pattern) => Buffer.from(`${pattern}\0`))
  // Both lists end with zeros.
  const overrides = new BigUint64Array([...texts.flatMap((text) => [addressOf(text), library.cpuMemory()]), 0n, 0n])
  const used = devices && new BigUint64Array([...devices, 0n])
  const shares = tensorSplit && Float32Array.from({ length: library.mostDevices() }, (_, index) => tensorSplit[index] ?? 0)
  const mode = lock ? (maps ? 'mapAndLock' : 'readAndLock') : maps ? 'map' : 'read'
  const memory: unknown[] = [texts, overrides, used, shares]
  return {
    params: {
      load_mode: loadModes[mode],
      ...(texts.length > 0 && { tensor_buft_overrides: addressOf(overrides) }),
      ...(used !== undefined && { devices: addressOf(used) }),
      ...(shares !== undefined && { tensor_split: addressOf(shares) }),
      split_mode: mainGpu === undefined ? splitModes.byLayer : splitModes.none,
      main_gpu: mainGpu ?? 0,
    },
    release: () => void memory.splice(0),
  }
}
