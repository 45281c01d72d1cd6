import type { Llama } from 'node-llama-cpp'
import { messageOf } from '../../../../contract/errors.ts'
import { vectorBatch } from '../../binding/batch.ts'
import { Context } from '../../binding/context.ts'
import type { ContextOptions } from '../../binding/context-params.ts'
import { isAssistant } from '../../binding/heads/assistant-of-file.ts'
import { HiddenStates, LayerInputs } from '../../binding/hidden-states.ts'
import { Model } from '../../binding/model.ts'
import type { Follower, Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { Turns } from '../../binding/turns.ts'
import { Rounds } from '../rounds/rounds.ts'
import { AssistantSequence } from './assistant-sequence.ts'
import { DraftGain } from './draft-gain.ts'
import type { HeadPlan } from './head-plan.ts'
import { type Drafting, HeadSequence, type Heads } from './head-sequence.ts'
import { refuseOtherVocabulary } from './same-vocabulary.ts'
import type { Drafter, DraftRequest } from './speculation.ts'

type Parts = {
  readonly plan: HeadPlan
  readonly llama: Llama
  /** The context of the model, and the sequences that are drafted for. */
  readonly target: Context
  readonly sequences: readonly Sequence[]
  readonly context: Omit<ContextOptions, 'sequences'>
  readonly onWarning: (message: string) => void
}

type Head = Follower & { draft(last: Token, drafting: Drafting): Promise<readonly Token[]> }

/** The context of the heads, and what they read of the model. */
type Opened = { readonly context: Context } & Pick<Heads, 'source' | 'hidden' | 'fuse' | 'isBehind' | 'layers' | 'wanted'>

/**
 * Drafts with layers that were trained to predict the tokens of this model further: its own (multi-token prediction), or those of another
 * file (EAGLE-3 too).
 */
export class HeadDrafts {
  readonly #plan: HeadPlan
  readonly #heads: ReadonlyMap<Sequence, Head>
  readonly #gain = new DraftGain()

  private constructor({ plan, sequences, onWarning }: Parts, opened: Opened) {
    this.#plan = plan
    let hasWarned = false
    const heads: Heads = {
      ...opened,
      rounds: new Rounds(),
      turns: new Turns(),
      isOn: () => plan.always || this.#gain.isOn,
      onError: (error: unknown) => {
        if (!hasWarned) onWarning(`drafting failed, and costs time only: ${messageOf(error)}`)
        hasWarned = true
      },
    }
    const open = (sequence: Sequence): Head =>
      isAssistant(opened.context.model.fileInfo) ? new AssistantSequence(sequence, heads) : new HeadSequence(sequence.id, heads)
    this.#heads = new Map(sequences.map((sequence) => [sequence, open(sequence)]))
    for (const [sequence, head] of this.#heads) sequence.follower = head
  }

  /** Throws llama.cpp's own errors, and one for a file that cannot draft for the model. */
  static async open(parts: Parts): Promise<HeadDrafts> {
    const { plan, llama, target } = parts
    const { file } = plan
    if (file === undefined) return new HeadDrafts(parts, await openLayers(target.model, parts))
    try {
      const model = await Model.load(llama, { ...file, ...(plan.kind === 'mtp' && { headsOf: target.model.fileInfo }) })
      refuseOtherVocabulary(target.model, model)
      return new HeadDrafts(parts, await (plan.kind === 'mtp' ? openLayers(model, parts) : openEagle(model, parts)))
    } catch (error) {
      throw new Error(`the draft model '${file.modelPath}' cannot be used: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Drafts the text of one choice. */
  start(): Drafter {
    let last: Token | undefined
    const drafter: Drafter = {
      kind: this.#plan.kind,
      push: (token) => {
        last = token
      },
      // A round with prompts is for these.
      draft: (request) => (last === undefined || request.round.prompts > 0 ? [] : this.#draft(last, request)),
    }
    return this.#plan.always ? drafter : this.#gain.measure(drafter)
  }

  async #draft(last: Token, { sequence, room, isOver }: DraftRequest): Promise<readonly Token[]> {
    const { maxTokens, minTokens, minProbability } = this.#plan
    const drafting = { known: sequence.nextTokenIndex, most: Math.min(room, maxTokens), minProbability, isOver }
    if (drafting.most <= 0) return []
    const drafted = (await this.#heads.get(sequence)?.draft(last, drafting)) ?? []
    return drafted.length < minTokens ? [] : drafted
  }
}

/** Layers for further tokens, which read the hidden states of the model. */
async function openLayers(model: Model, { target, ...parts }: Parts): Promise<Opened> {
  if (model.embeddingVectorSize !== target.model.embeddingVectorSize) throw new Error('it is for a model of another width')
  // It reads the model's vectors of its own guesses.
  if (isAssistant(model.fileInfo) && model.size > target.model.size)
    throw new Error(`it knows ${model.size} tokens, and the model ${target.model.size}`)
  const { library, native } = target
  const opened = await createContext(model, { target, isOfLayers: true, ...parts })
  const source = new HiddenStates(library, native, { length: target.model.embeddingVectorSize, of: 'all' })
  target.hidden = source
  return { ...opened, source, layers: library.headLayers(model.native), wanted: 'last' }
}

/** A model of one layer that reads the inputs of some layers of the model, fused. */
async function openEagle(model: Model, { target, ...parts }: Parts): Promise<Opened> {
  const layers = eagleLayers(model, target.model)
  const opened = await createContext(model, { target, isOfLayers: false, ...parts })
  const { context, hidden } = opened
  const { library, native } = target
  const source = new LayerInputs(library, native, {
    layers,
    depth: library.layers(target.model.native),
    width: target.model.embeddingVectorSize,
  })
  target.hidden = source
  const fuse = async (vectors: readonly Float32Array[]) => {
    const fused: Float32Array[] = []
    for (let at = 0; at < vectors.length; at += context.batchSize) {
      const part = vectors.slice(at, at + context.batchSize)
      const rows = await context.encode(vectorBatch(part, source.length), () => hidden.copy(0, part.length))
      for (let row = 0; row < part.length; row++) fused.push(rows.subarray(row * hidden.length, (row + 1) * hidden.length))
    }
    return fused
  }
  return { ...opened, source, fuse, isBehind: true, layers: 1, wanted: 'all' }
}

type Creating = Omit<Parts, 'llama' | 'plan' | 'onWarning'> & { readonly isOfLayers: boolean }

async function createContext(model: Model, { target, sequences, context: options, isOfLayers }: Creating) {
  const turns = isAssistant(model.fileInfo) ? target.turns : undefined
  const headsOf = { native: target.native, isOfLayers, ...(turns !== undefined && { turns }) }
  const own = { ...options, adapters: [], contextSize: target.contextSize, sequences: sequences.length, headsOf }
  const context = await Context.create(model, own)
  const hidden = new HiddenStates(context.library, context.native, {
    length: model.embeddingVectorSize,
    of: 'wanted',
    mixes: isOfLayers,
  })
  context.hidden = hidden
  return { context, hidden }
}

/** Whose inputs it reads. Others than these would end the process. */
function eagleLayers({ fileInfo }: Model, { library, native, embeddingVectorSize }: Model): readonly number[] {
  const { eagle3 } = fileInfo.metadata as {
    readonly eagle3?: { readonly target_layers?: unknown; readonly target_hidden_size?: unknown }
  }
  const layers = Array.isArray(eagle3?.target_layers) ? eagle3.target_layers.map(Number) : []
  const depth = library.layers(native)
  const width = Number(eagle3?.target_hidden_size)
  const missing = layers.find((layer) => !(layer >= 0 && layer <= depth))
  if (missing !== undefined) throw new Error(`it reads layer ${missing}, and the model has ${depth}`)
  if (width !== embeddingVectorSize)
    throw new Error(`it is for a model of the width ${width}, and this one has ${embeddingVectorSize}`)
  return layers
}
