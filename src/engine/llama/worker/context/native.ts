import type {
  CustomBatchingPrioritizationStrategy,
  EvaluationPriority,
  LlamaContext,
  LlamaContextSequence,
  LlamaEmbeddingContext,
  LlamaModel,
  SequenceEvaluateOptions,
  Token,
} from 'node-llama-cpp'
import { messageOf } from '../../../../contract/errors.ts'

/**
 * Internals of node-llama-cpp 3.22.1 that it does not export: sampling a token and reading the logits of the same step, the order of
 * sequences in a batch, and copying the contents of a sequence. All access to internals is in this file.
 */

/** The index of a token's logits in the batch that was just computed. */
export type LogitIndex = number & { readonly __brand: 'logit index' }

/** Pairs of a token and its logit, flat, the highest first. */
type FlatLogits = readonly number[]
type LogitFilter = readonly [tokens: readonly Token[], max: boolean, min: boolean, selected: boolean, top: number]

/** A chain of samplers that keeps its state (random numbers, penalties) from token to token. */
type NativeSampler = { applyConfig(config: object): void; dispose(): void }

/** Numbers that are added to logits, of tokens that may be named more than once. */
type SamplerConfig = { readonly tokenBiasKeys?: Uint32Array; readonly tokenBiasValues?: Float32Array }

type NativeContext = {
  /** Throws an error that says how the vocabularies differ, by llama.cpp's own rule. */
  ensureDraftContextIsCompatibleForSpeculative(draft: NativeContext): void
  sampleToken(index: LogitIndex, sampler: NativeSampler): Promise<Token | -1>
  sampleToken(
    index: LogitIndex,
    sampler: NativeSampler,
    probabilities: boolean,
    confidence: boolean,
    logits: LogitFilter,
    totalLogitWeight: boolean,
  ): Promise<[token: Token | -1, unknown, unknown, logits: FlatLogits | undefined, total: number | undefined]>
}

type Bindings = {
  AddonSampler: {
    new (model: unknown): NativeSampler
  }
}
type ModelInside = { readonly _model: unknown; readonly _llama: { readonly _bindings: Bindings } }
type SequenceInside = {
  readonly _context: { readonly _ctx: NativeContext }
  readonly _sequenceId: EvaluationPriority
  readonly _tokenMeter: unknown
  readonly _contextShift: unknown
  readonly _takeIntervalCheckpointIfNeededAfterBatch: unknown
  _copyStateFromOtherSequence(from: LlamaContextSequence, tokens: number): Promise<boolean>
  _resolveSamplerConfig(options: SequenceEvaluateOptions): SamplerConfig
  _decodeTokens<T>(
    tokens: readonly Token[],
    logits: readonly boolean[],
    priority: EvaluationPriority,
    meter: unknown,
    contextShift: unknown,
    read: (index: LogitIndex, tokenIndex: number) => Promise<T>,
    afterBatch: unknown,
  ): Promise<T[]>
}

const insideOf = (sequence: LlamaContextSequence): SequenceInside => sequence as unknown as SequenceInside
const bindingsOf = (model: LlamaModel): Bindings => (model as unknown as ModelInside)._llama._bindings

export function createSampler(model: LlamaModel): NativeSampler {
  return new (bindingsOf(model).AddonSampler)((model as unknown as ModelInside)._model)
}

/**
 * Puts the sequences of a batch in rising order. llama.cpp computes tokens of several sequences in one pass only while their ids are
 * consecutive and rising (`llama_batch_allocr::split_equal`). node-llama-cpp does not show the ids to a strategy: they are passed as
 * priorities, which it does not check.
 */
export const inOrderOfSequences: CustomBatchingPrioritizationStrategy = ({ items, size }) => {
  let left = size
  const batch: ReturnType<CustomBatchingPrioritizationStrategy> = []
  for (const item of [...items].sort((a, b) => a.evaluationPriority - b.evaluationPriority)) {
    const processAmount = Math.min(item.tokens.length, left)
    // node-llama-cpp takes an amount of 0 for 1.
    if (processAmount === 0) break
    batch.push({ item, processAmount })
    left -= processAmount
  }
  return batch
}

/** Adds tokens to a sequence without computing their logits; only one call may run on a sequence at a time. */
export async function computeTokens(sequence: LlamaContextSequence, tokens: readonly Token[]): Promise<void> {
  await decodeTokens(sequence, { tokens, wanted: [] }, async () => undefined)
}

/**
 * Adds tokens to a sequence, and calls `read` while the logits of the last one are available; only one call may run on a sequence at a
 * time.
 */
export async function evaluateLast<T>(
  sequence: LlamaContextSequence,
  tokens: readonly Token[],
  read: (index: LogitIndex) => Promise<T>,
): Promise<T> {
  const wanted = tokens.map((_, at) => at === tokens.length - 1)
  return (await evaluate(sequence, { tokens, wanted }, read)).at(-1) as T
}

/** Erases the tokens of a sequence from this one on. */
export function truncate(sequence: LlamaContextSequence, start: number): Promise<void> {
  return sequence.eraseContextTokenRanges([{ start, end: sequence.nextTokenIndex }])
}

/** As `evaluateLast`, for the logits of all tokens: calls `read` for each, in order. */
export function evaluateAll<T>(
  sequence: LlamaContextSequence,
  tokens: readonly Token[],
  read: (index: LogitIndex, tokenIndex: number) => Promise<T>,
): Promise<T[]> {
  return evaluate(sequence, { tokens, wanted: tokens.map(() => true) }, read)
}

async function evaluate<T>(
  sequence: LlamaContextSequence,
  decoding: Decoding,
  read: (index: LogitIndex, tokenIndex: number) => Promise<T>,
): Promise<T[]> {
  // node-llama-cpp calls back within the batch of all sequences: an error thrown there is uncaught and ends the process.
  const failures: unknown[] = []
  const readSafely = async (index: LogitIndex, tokenIndex: number): Promise<T | undefined> => {
    try {
      return failures.length > 0 ? undefined : await read(index, tokenIndex)
    } catch (error) {
      failures.push(error)
      return undefined
    }
  }
  const results = await decodeTokens(sequence, decoding, readSafely)
  if (failures.length > 0) throw failures[0]
  return results as T[]
}

type Decoding = { readonly tokens: readonly Token[]; readonly wanted: readonly boolean[] }

/** Queues the tokens for the next pass before it returns; `read` is called for those whose logits are `wanted`. */
function decodeTokens<T>(
  sequence: LlamaContextSequence,
  { tokens, wanted }: Decoding,
  read: (index: LogitIndex, tokenIndex: number) => Promise<T>,
): Promise<T[]> {
  const inside = insideOf(sequence)
  const { _tokenMeter: meter, _contextShift: contextShift, _takeIntervalCheckpointIfNeededAfterBatch: takeCheckpoint } = inside
  const afterBatch = needsCheckpoints(sequence) ? takeCheckpoint : undefined
  return inside._decodeTokens(tokens, wanted, inside._sequenceId, meter, contextShift, read, afterBatch)
}

const checkpointsOf = new WeakMap<LlamaContext, boolean>()

/** The same for all sequences of a context at all times; node-llama-cpp reads it from the model's metadata each time, for 35 µs. */
function needsCheckpoints(sequence: LlamaContextSequence): boolean {
  const known = checkpointsOf.get(sequence.context)
  if (known !== undefined) return known
  checkpointsOf.set(sequence.context, sequence.needsCheckpoints)
  return sequence.needsCheckpoints
}

type SampleOptions = {
  readonly sampler: NativeSampler
  readonly index: LogitIndex
  readonly options: SequenceEvaluateOptions
  /** Tokens that are not sampled. */
  readonly forbidden?: Uint32Array
}

/** The options that a sampler was configured with, where they cannot change from token to token. */
const configured = new WeakMap<NativeSampler, SequenceEvaluateOptions>()

/** Samples the next token, in the same order and with the same random numbers as `sequence.evaluate`. */
export async function sampleToken(
  sequence: LlamaContextSequence,
  { sampler, index, options, forbidden }: SampleOptions,
): Promise<Token> {
  const inside = insideOf(sequence)
  if (forbidden !== undefined || configured.get(sampler) !== options) {
    const config = inside._resolveSamplerConfig(options)
    sampler.applyConfig(forbidden === undefined ? config : { ...config, ...withForbidden(config, forbidden) })
    if (forbidden === undefined && !dependsOnOutput(options)) configured.set(sampler, options)
    else configured.delete(sampler)
  }
  const token = await inside._context._ctx.sampleToken(index, sampler)
  if (token === -1) throw new Error('no token could be chosen')
  return token
}

function dependsOnOutput({ tokenBias, repeatPenalty }: SequenceEvaluateOptions): boolean {
  return typeof tokenBias === 'function' || repeatPenalty !== undefined
}

function withForbidden(
  { tokenBiasKeys = new Uint32Array(), tokenBiasValues }: SamplerConfig,
  forbidden: Uint32Array,
): SamplerConfig {
  const given = tokenBiasKeys.length
  const keys = new Uint32Array(given + forbidden.length)
  const values = new Float32Array(keys.length).fill(Number.NEGATIVE_INFINITY)
  keys.set(tokenBiasKeys)
  keys.set(forbidden, given)
  if (tokenBiasValues !== undefined) values.set(tokenBiasValues)
  return { tokenBiasKeys: keys, tokenBiasValues: values }
}

/** Logits of a step: of named tokens, or of the `top` highest; `sampler` must not change them. */
export async function readLogits(
  sequence: LlamaContextSequence,
  { sampler, index, tokens, top }: { sampler: NativeSampler; index: LogitIndex; tokens: readonly Token[]; top: number },
): Promise<{ selected: Token; logits: [Token, number][]; totalWeight: number }> {
  const context = insideOf(sequence)._context._ctx
  const named = tokens.length > 0
  const filter: LogitFilter = [tokens, false, false, named, top]
  const [selected, , , flat, total] = await context.sampleToken(index, sampler, false, false, filter, named)
  const logits: [Token, number][] = []
  for (let at = 0; at + 1 < (flat?.length ?? 0); at += 2) logits.push([flat?.[at] as Token, flat?.[at + 1] as number])
  return { selected: selected as Token, logits, totalWeight: total ?? 1 }
}

/** The most probable token, and its probability; `sampler` must be greedy. */
export async function sampleBest(
  sequence: LlamaContextSequence,
  { sampler, index }: { sampler: NativeSampler; index: LogitIndex },
): Promise<{ token: Token; probability: number }> {
  // The weights of all tokens are relative to that of the most probable one.
  const { selected, totalWeight } = await readLogits(sequence, { sampler, index, tokens: [0 as Token], top: 0 })
  return { token: selected, probability: 1 / totalWeight }
}

/** Throws unless one model can draft tokens for the other: they need the same vocabulary. */
export function refuseOtherVocabulary(context: LlamaContext, draft: LlamaContext): void {
  const nativeOf = (of: LlamaContext) => (of as unknown as { readonly _ctx: NativeContext })._ctx
  try {
    nativeOf(context).ensureDraftContextIsCompatibleForSpeculative(nativeOf(draft))
  } catch (error) {
    const message = `it has another vocabulary, so use a small model of the same family (${messageOf(error)})`
    throw new Error(message, { cause: error })
  }
}

/**
 * Copies the first `tokens` tokens from another sequence of the same context, which may be in use. False when that failed: the contents
 * are then unknown and must be cleared.
 */
export function copyTokens(to: LlamaContextSequence, from: LlamaContextSequence, tokens: number): Promise<boolean> {
  return insideOf(to)._copyStateFromOtherSequence(from, tokens)
}

type EmbeddingInside = {
  readonly _sequence: LlamaContextSequence
  readonly _llamaContext: { readonly _ctx: { getEmbedding(inputTokens: number): Float64Array | readonly number[] } }
}

/** The sequence of an embedding context: its own method computes a text in one step that cannot be cancelled. */
export function embeddingSequence(context: LlamaEmbeddingContext): LlamaContextSequence {
  return (context as unknown as EmbeddingInside)._sequence
}

/** The pooled vector of the step that was just computed; without pooling, the vector of its last token. */
export function readEmbedding(context: LlamaEmbeddingContext, stepTokens: number): Float32Array {
  return Float32Array.from((context as unknown as EmbeddingInside)._llamaContext._ctx.getEmbedding(stepTokens))
}
