import { AppError } from '../../contract/errors.ts'

/** How to start one llama-server; every path is absolute and every file exists. */
export type ServerPlan = {
  /** A path, or a name that is looked up on PATH. */
  readonly binary: string
  readonly modelPath: string
  /** The multimodal projector. */
  readonly mmprojPath?: string
  /** Tokens that one request may use. */
  readonly contextLength: number
  readonly slots: number
  readonly threads?: number
  readonly gpuLayers?: number | 'auto' | 'max'
  readonly placement?: {
    readonly experts?: number | 'cpu'
    readonly devices?: readonly string[]
    readonly tensorSplit?: readonly number[]
    readonly mainGpu?: number
    readonly noMmap?: boolean
    readonly lock?: boolean
  }
  readonly flashAttention: boolean | 'auto'
  readonly cacheTypeK?: string
  readonly cacheTypeV?: string
  readonly draft?: {
    readonly modelPath: string
    readonly type?: 'model' | 'mtp' | 'eagle3'
    readonly maxTokens?: number
    readonly minTokens?: number
    readonly minProbability?: number
    readonly gpuLayers?: number | 'auto' | 'max'
  }
  /** Layers of the model itself draft. */
  readonly speculation?: { readonly type: 'mtp'; readonly maxTokens: number; readonly minProbability: number }
  readonly adapters?: readonly { readonly path: string; readonly scale: number }[]
  /** What prompts may use that are kept besides the slots; absent: as the server decides. */
  readonly promptCacheBytes?: number
  readonly chatTemplatePath?: string
  /** Absent: the model's own. */
  readonly chatTemplateName?: string
  /** Further arguments, passed unchanged; the configuration refuses those that contradict the other fields. */
  readonly extraArguments: readonly string[]
}

/** The size of its smaller batches, to which it would divide a larger one anyway. */
const smallBatch = 512
const cacheArguments = /^(?:-cram|--cache-ram)(?:=|$)/
const batchArguments = /^(?:-b|--batch-size|-ub|--ubatch-size)(?:=|$)/

/** The server's port, and a model name that is unique to this start, to recognize the server. */
type ServerIdentity = { readonly port: number; readonly alias: string }

/** The command line. The key is not on it, since every user of the machine can read it. */
export function serverArguments(plan: ServerPlan, { port, alias }: ServerIdentity): string[] {
  const { modelPath, mmprojPath, contextLength, slots, threads, gpuLayers, flashAttention, draft, speculation } = plan
  return [
    ...['--host', '127.0.0.1', '--port', `${port}`, '--alias', alias, '--model', modelPath],
    // The server divides its context among its slots.
    ...['--ctx-size', `${contextLength * slots}`, '--parallel', `${slots}`],
    ...['--flash-attn', flashAttention === 'auto' ? 'auto' : flashAttention ? 'on' : 'off'],
    // A last message of the assistant is continued on request only.
    ...['--jinja', '--slots', '--metrics', '--no-webui', '--no-prefill-assistant'],
    ...option('--mmproj', mmprojPath),
    ...option('--threads', threads),
    ...option('--gpu-layers', layers(gpuLayers)),
    ...placementOptions(plan),
    ...option('--batch-size', batchSize(plan)),
    ...option('--cache-type-k', plan.cacheTypeK),
    ...option('--cache-type-v', plan.cacheTypeV),
    ...option('--chat-template-file', plan.chatTemplatePath),
    ...option('--spec-draft-model', draft?.modelPath),
    ...option('--spec-type', specType(plan)),
    ...option('--spec-draft-n-max', (draft ?? speculation)?.maxTokens),
    ...option('--spec-draft-n-min', draft?.minTokens),
    ...option('--spec-draft-p-min', (draft ?? speculation)?.minProbability),
    ...option('--spec-draft-ngl', layers(draft?.gpuLayers)),
    ...(plan.adapters ?? []).flatMap(adapterOption),
    ...option('--cache-ram', promptCacheMib(plan)),
    ...plan.extraArguments,
  ]
}

/** Without a kind, the draft model of v0.5.0 is loaded but not used; other types can be set in `args`. */
function specType({ draft, speculation, extraArguments }: ServerPlan): string | undefined {
  if (extraArguments.includes('--spec-type')) return undefined
  if (draft?.type === 'eagle3') return 'draft-eagle3'
  if (draft?.type === 'mtp' || speculation !== undefined) return 'draft-mtp'
  return draft && 'draft-simple'
}

/** Without `experts` and a number of layers, the server itself fits them to the free memory (`--fit`). */
function placementOptions({ placement = {} }: ServerPlan): string[] {
  const { experts, devices, tensorSplit, mainGpu, noMmap = false, lock = false } = placement
  const mode = lock ? (noMmap ? 'mlock' : 'mmap+mlock') : noMmap ? 'none' : undefined
  return [
    ...(experts === 'cpu' ? ['--cpu-moe'] : option('--n-cpu-moe', experts)),
    ...option('--device', devices?.join(',')),
    ...option('--tensor-split', tensorSplit?.join(',')),
    ...(mainGpu === undefined ? [] : ['--split-mode', 'none', '--main-gpu', `${mainGpu}`]),
    ...option('--load-mode', mode),
  ]
}

/**
 * After a cancel, the server still computes the batch in progress: seconds on a CPU with the default of 2,048 tokens. A GPU takes no time
 * for it, and splits a batch for several devices.
 */
function batchSize({ gpuLayers = 'auto', extraArguments }: ServerPlan): number | undefined {
  return isSet(extraArguments, batchArguments) || (gpuLayers !== 0 && gpuLayers !== 'auto') ? undefined : smallBatch
}

/** Both options take lists with commas; the one with a scale cannot take a path with a colon. */
function adapterOption({ path, scale }: NonNullable<ServerPlan['adapters']>[number]): string[] {
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
  if (scale === 1) return ['--lora', quote(path)]
  if (!path.includes(':')) return ['--lora-scaled', quote(`${path}:${scale}`)]
  throw new AppError(
    'model-unavailable',
    `the path of the adapter ${path} has a colon, so that its scale must be 1, not ${scale}`,
  )
}

function promptCacheMib({ promptCacheBytes, adapters = [], extraArguments }: ServerPlan): number | undefined {
  // The server would keep prompts without the adapters that they were read with.
  if (adapters.length > 0) return 0
  return isSet(extraArguments, cacheArguments) ? undefined : promptCacheBytes && Math.floor(promptCacheBytes / 2 ** 20)
}

function isSet(extraArguments: readonly string[], names: RegExp): boolean {
  return extraArguments.some((argument) => names.test(argument.replaceAll('_', '-')))
}

function layers(count: ServerPlan['gpuLayers']): number | string | undefined {
  return count === 'max' ? 'all' : count
}

function option(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [name, `${value}`]
}
