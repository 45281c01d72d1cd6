import { availableParallelism } from 'node:os'
import { getLlama, LlamaLogLevel } from 'node-llama-cpp'
import type { Context } from '../../binding/context.ts'
import { openLibrary } from '../../binding/library.ts'
import { Model } from '../../binding/model.ts'
import { isOfInterrupt } from '../../binding/pass-errors.ts'
import type { LlamaBuild, LoadOptions } from '../../channel/ipc.ts'
import { llamaOptions, openContext } from '../context/context.ts'
import { Embedder } from '../embed/embedder.ts'
import { isCausal } from '../embed/pooling.ts'
import { defaultStopWithinMs, PrefillPacer } from '../rounds/prefill-pacer.ts'
import { Rounds } from '../rounds/rounds.ts'
import { CertainDrafts } from '../sampling/certain-drafter.ts'
import { DraftGain } from '../sampling/draft-gain.ts'
import { DraftModel } from '../sampling/draft-model.ts'
import { Guides } from '../sampling/guidance.ts'
import { HeadDrafts } from '../sampling/head-drafts.ts'
import { planHeads } from '../sampling/head-plan.ts'
import { NgramDrafter } from '../sampling/ngram-drafter.ts'
import type { Drafter } from '../sampling/speculation.ts'
import { createTokenTrie, readTokenTrie, type TokenTrie } from '../sampling/token-trie.ts'
import type { FetchMedia, MediaStore } from '../senses/media-store.ts'
import { openMediaStore } from '../senses/open-media-store.ts'
import { identityOf, PrefixStore } from '../slots/prefix-store.ts'
import { SlotPool } from '../slots/slot-pool.ts'
import type { Slot } from '../slots/slots.ts'
import {
  createTemplateParts,
  readTemplatePart,
  type TemplatePart,
  type TemplateParts,
  type TemplateSource,
} from './model-template.ts'
import { placeWeights } from './place-weights.ts'

/** A loaded model with its context, as the worker uses it. */
export type WorkerModel = TemplatePart & {
  readonly model: Model
  readonly context: Context
  readonly slots: readonly Slot[]
  /** Everything that this context computes runs in its rounds. */
  readonly rounds: Rounds
  readonly pool: SlotPool<Slot>
  readonly pacer: PrefillPacer
  /** Creates a pacer for prompts that are read in steps of at most `largestStep` tokens. */
  createPacer(largestStep: number): PrefillPacer
  readonly templateSource: TemplateSource
  /** The model under templates that requests name. */
  readonly templateParts: TemplateParts
  readonly embedder: Embedder
  readonly tokenTrie: TokenTrie
  /** Drafts the text of a choice that begins with this prompt; absent: nothing is drafted. */
  readonly openDrafter?: (prompt: Iterable<number>) => Drafter
  /** Absent with recurrent layers: a state would be copied for each. */
  readonly certainDrafts: CertainDrafts | undefined
  readonly prefixStore: PrefixStore | undefined
  readonly guides: Guides
  /** Only with a projector. */
  readonly media: MediaStore | undefined
}

/** The smallest automatic context: on a machine without memory for it, the operator has to set one. */
const usualContext = 8192
const progressStep = 0.01

const shortStepsHint =
  'a step of 64 tokens of a prompt takes longer here than `stopWithinMs` allows; in shorter steps a token takes up to twice as long: a ' +
  'larger `stopWithinMs` makes long prompts faster, but running streams may wait that long, and cancelled prompts run on that long'

type Observer = {
  onProgress(progress: number): void
  onLog(level: LlamaLogLevel, message: string): void
  /** Reports a warning to the operator. */
  onWarning(message: string): void
  /** The bytes of a medium, as base64. Absent: prompts have their own. */
  onWanted?: FetchMedia
}

const nobodyHas: FetchMedia = (sha256) => Promise.reject(new Error(`nobody has the bytes of the medium ${sha256}`))

/**
 * Loads the model file and makes one context with a sequence for each slot, with a build of llama.cpp that is known to run here, else
 * with the first that does. Throws llama.cpp's own errors.
 */
export async function loadModel(
  given: LoadOptions,
  { onProgress, onLog, onWarning, onWanted }: Observer,
  knownBuild?: LlamaBuild,
): Promise<WorkerModel> {
  // Adapters of scale 0 change nothing: they serve requests that name them, which this engine refuses.
  const options = { ...given, adapters: given.adapters?.filter(({ scale }) => scale !== 0) }
  const llama = await startLlama(knownBuild, onLog)
  const heads = await planHeads(options)
  let reported = 0
  const model = await Model.load(llama, {
    modelPath: options.modelPath,
    heads: heads !== undefined && heads.file === undefined,
    ...placeWeights(openLibrary(), options),
    noMmap: options.placement?.noMmap,
    onLoadProgress(progress) {
      if (progress - reported < progressStep && progress < 1) return
      reported = progress
      onProgress(progress)
    },
  })
  const { stopWithinMs = defaultStopWithinMs } = options
  const threads = options.threads ?? defaultThreads(llama.cpuMathCores)
  const contextOptions = {
    ...options,
    contextSize: options.contextLength ?? rangeOf(model.trainContextSize, options.longestContext),
    threads,
    // A draft may be rejected completely.
    ...(heads !== undefined && { rollback: heads.maxTokens }),
  }
  const { context, sequences } = await openContext(model, contextOptions).catch((error: unknown) => {
    throw withAdapterHint(error, options)
  })
  const { interrupt } = context
  warnOfShorterContext(context, options, onWarning)
  const slots: Slot[] = sequences.map((sequence) => ({ sequence, busy: false, lastUsed: 0 }))
  const own = options.chatTemplate ?? model.fileInfo.metadata.tokenizer.chat_template
  const templateSource = { own, settings: options }
  const templatePart = readTemplatePart(model, templateSource, options.template)
  const embedder = new Embedder(model, { contextLength: context.contextSize, threads, rope: options.rope, stopWithinMs })
  // An encoder generates nothing that could be constrained.
  const tokenTrie = isCausal(model) ? readTokenTrie(model) : createTokenTrie([], 0)
  const media = await openMediaStore(context, options, {
    threads,
    fetch: onWanted ?? nobodyHas,
    log: (message) => onLog(LlamaLogLevel.debug, message),
  })
  const prefixStore = await openPrefixStore(options, context, onWarning)
  const createPacer = (largestStep: number, onShortSteps?: () => void) =>
    new PrefillPacer({ largestStep, stopWithinMs, onShortSteps, isInterruptible: interrupt !== undefined })
  const parts = {
    model,
    context,
    slots,
    rounds: new Rounds({ interrupt, mayDivide: true }),
    pool: new SlotPool(slots),
    // Each of the other slots may generate a token in the same batch.
    pacer: createPacer(Math.max(1, context.batchSize - options.slots), () => onWarning(shortStepsHint)),
    createPacer,
    templateSource,
    templateParts: createTemplateParts(model, templateSource),
    embedder,
    tokenTrie,
    prefixStore,
    media,
    certainDrafts: context.erases ? new CertainDrafts(model) : undefined,
    guides: new Guides(() => openContext(model, { ...contextOptions, rollback: 0, contextSize: context.contextSize })),
  }
  const beside = { ...contextOptions, rollback: 0, contextSize: context.contextSize, adapters: [] }
  const openDrafter = await findDrafter(options, {
    heads: heads && (await HeadDrafts.open({ plan: heads, llama, target: context, context: beside, sequences, onWarning })),
    loadModel: (settings) => DraftModel.load(llama, { settings, context: beside, sequences, stopWithinMs, onWarning }),
  })
  return { ...parts, ...templatePart, ...(openDrafter !== undefined && { openDrafter }) }
}

/** Without a set context: as long as the free memory of GPU and machine allows. */
function rangeOf(trained: number, longest = Math.min(trained, usualContext)): { readonly min: number; readonly max: number } {
  return { min: Math.min(longest, usualContext), max: longest }
}

function warnOfShorterContext(
  { contextSize }: Context,
  { contextLength, longestContext = 0, slots }: LoadOptions,
  onWarning: Observer['onWarning'],
): void {
  if (contextLength !== undefined || contextSize >= longestContext) return
  onWarning(
    `the free memory allows a context of ${contextSize} tokens only, instead of ${longestContext}, with slots: ${slots}; ` +
      'end other programs, or set contextLength or fewer slots',
  )
}

type Drafting = {
  readonly heads: HeadDrafts | undefined
  readonly loadModel: (settings: NonNullable<LoadOptions['draft']>) => Promise<DraftModel>
}

async function findDrafter(
  { speculation, draft }: LoadOptions,
  { heads, loadModel: load }: Drafting,
): Promise<WorkerModel['openDrafter']> {
  if (heads !== undefined) return () => heads.start()
  if (speculation?.type === 'ngram') {
    const { maxTokens, always } = speculation
    const gain = new DraftGain()
    const open = (prompt: Iterable<number>) => new NgramDrafter({ prompt, maxTokens })
    return always === true ? open : (prompt) => gain.measure(open(prompt))
  }
  if (draft === undefined) return undefined
  const model = await load(draft)
  return (prompt) => model.open(prompt)
}

async function openPrefixStore(
  options: LoadOptions,
  context: Context,
  onWarning: Observer['onWarning'],
): Promise<PrefixStore | undefined> {
  const { prefixCache } = options
  if (prefixCache === undefined) return undefined
  return PrefixStore.open(prefixCache, await identityOf(options, context), onWarning)
}

/** llama.cpp only logs which tensor of an adapter the model does not have. */
function withAdapterHint(error: unknown, { adapters = [] }: LoadOptions): unknown {
  if (adapters.length === 0 || !(error instanceof Error) || !error.message.includes('LoRA')) return error
  return new Error(`${error.message}: it is not a LoRA adapter in GGUF, or it is for another base model`, { cause: error })
}

function startLlama(build: LlamaBuild | undefined, onLog: Observer['onLog']): ReturnType<typeof getLlama> {
  return getLlama({
    ...llamaOptions,
    ...(build !== undefined && { gpu: build === 'cpu' ? false : build }),
    logLevel: LlamaLogLevel.info,
    logger: (level, message) => onLog(isOfInterrupt(message) ? LlamaLogLevel.debug : level, message),
    // No thread pool shared between contexts: a worker has one context, and another one when it embeds.
    maxThreads: 0,
  })
}

/**
 * All cores but one: llama.cpp's threads spin between steps, and anything else that runs on their cores, such as the server's event
 * loop, slows them down by a factor of 2 to 30 (measured; docs/inside/decisions/0003).
 */
function defaultThreads(mathCores: number): number {
  return Math.max(1, Math.min(mathCores, availableParallelism()) - 1)
}
