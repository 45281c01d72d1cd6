import type { Llama } from 'node-llama-cpp'
import { messageOf } from '../../../../contract/errors.ts'
import { Model } from '../../binding/model.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { LoadOptions } from '../../channel/ipc.ts'
import { type ContextOptions, computeAndForget, type OpenContext, openContext } from '../context/context.ts'
import { readStep, warmUp } from '../rounds/prefill.ts'
import { PrefillPacer } from '../rounds/prefill-pacer.ts'
import { Rounds } from '../rounds/rounds.ts'
import { sharedPrefix } from '../slots/slots.ts'
import { DraftGain } from './draft-gain.ts'
import { refuseOtherVocabulary } from './same-vocabulary.ts'
import { mostProbable } from './scores.ts'
import type { Drafter, DraftRequest } from './speculation.ts'

type Settings = NonNullable<LoadOptions['draft']>

/** Defaults. Longer or less certain drafts are rejected too often (docs/inside/decisions/0036). */
const defaults = { maxTokens: 8, minTokens: 0, minProbability: 0.6 }
/** The share of a round for the draft model to read a step of new text; the rest is for the model itself. */
const readingShare = 0.5

type Parts = {
  readonly settings: Settings
  readonly context: ContextOptions
  /** The sequences of the model that it drafts for. */
  readonly sequences: readonly Sequence[]
  /** The limit of a round with both models. */
  readonly stopWithinMs: number
  readonly onWarning: (message: string) => void
}

/** A small model that drafts tokens for another one. It has a context of its own, with a sequence beside each of the other's. */
export class DraftModel {
  readonly #limits: Required<Pick<Settings, 'maxTokens' | 'minTokens' | 'minProbability'>>
  readonly #beside: ReadonlyMap<Sequence, Sequence>
  readonly #rounds = new Rounds()
  readonly #pacer: PrefillPacer
  readonly #warn: Parts['onWarning']
  readonly #always: boolean
  readonly #gain = new DraftGain()
  #hasWarned = false

  private constructor({ settings, sequences, stopWithinMs, onWarning }: Parts, own: OpenContext) {
    const { maxTokens, minTokens, minProbability } = { ...defaults, ...settings }
    this.#always = settings.always === true
    this.#limits = { maxTokens, minTokens, minProbability }
    this.#beside = new Map(sequences.map((sequence, index) => [sequence, own.sequences[index] as Sequence]))
    const largestStep = Math.max(1, own.context.batchSize - sequences.length)
    this.#pacer = new PrefillPacer({ largestStep, stopWithinMs: readingShare * stopWithinMs, holdsUpOthers: true })
    this.#warn = onWarning
  }

  /** Throws llama.cpp's own errors, and one for a model that cannot draft for the other. */
  static async load(llama: Llama, parts: Parts): Promise<DraftModel> {
    const { modelPath, gpuLayers } = parts.settings
    try {
      const model = await Model.load(llama, { modelPath, gpuLayers })
      const draft = new DraftModel(parts, await openContext(model, parts.context))
      await draft.#tryOut()
      return draft
    } catch (error) {
      throw new Error(`the draft model '${modelPath}' cannot be used: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Drafts the text of one choice that begins with this prompt. */
  open(prompt: Iterable<number>): Drafter {
    const text = [...prompt] as Token[]
    let isReading = false
    const drafter: Drafter = {
      kind: 'model',
      push: (token) => void text.push(token),
      draft: (request) => {
        // A round with prompts is for these.
        if (request.round.prompts > 0) return []
        const sequence = this.#beside.get(request.sequence) as Sequence
        const mustRead = text.length - this.#knownOf(sequence, text) > this.#limits.maxTokens + 1
        // What has begun is ended: a part of a text is of no use.
        isReading = mustRead && (isReading || this.#always || this.#gain.mayRead)
        if (mustRead && !isReading) return []
        if (mustRead) this.#gain.read()
        return this.#draft(sequence, text, request)
      },
    }
    return this.#always ? drafter : this.#gain.measure(drafter)
  }

  /** The tokens of a text that the sequence need not read. The last token is always computed, for its logits. */
  #knownOf(sequence: Sequence, text: readonly Token[]): number {
    return Math.min(sharedPrefix(sequence.contextTokens, text), text.length - 1)
  }

  async #draft(sequence: Sequence, text: readonly Token[], request: DraftRequest): Promise<readonly Token[]> {
    try {
      const drafted = await this.#continue(sequence, text, request)
      return drafted.length < this.#limits.minTokens ? [] : drafted
    } catch (error) {
      if (!this.#hasWarned) this.#warn(`drafting failed, and costs time only: ${messageOf(error)}`)
      this.#hasWarned = true
      await sequence.clearHistory().catch(() => undefined)
      return []
    }
  }

  /** Reads the text that the sequence lacks, then drafts; a long text is read in several rounds. */
  async #continue(sequence: Sequence, text: readonly Token[], { room, isOver }: DraftRequest): Promise<readonly Token[]> {
    const known = this.#knownOf(sequence, text)
    if (sequence.nextTokenIndex > known) await sequence.truncate(known)
    const from = sequence.nextTokenIndex
    let unread = text.slice(from)
    const { maxTokens, minProbability } = this.#limits
    if (unread.length > maxTokens + 1) {
      const reading = { pacer: this.#pacer, rounds: this.#rounds, isOver, depth: from }
      await readStep(unread.slice(0, -1), reading, (step) => sequence.compute(step))
      return []
    }
    const drafted: Token[] = []
    while (drafted.length < Math.min(room, maxTokens) && !isOver()) {
      const next = await this.#rounds.join('tokens', () =>
        sequence.computeLast(unread, (index) => mostProbable(sequence.context.logits(index))),
      )
      if (next.probability < minProbability || sequence.context.model.isEogToken(next.token)) break
      // Recurrent layers return to here, where the text ends.
      if (drafted.length === 0) await sequence.prepareDraft(maxTokens)
      drafted.push(next.token)
      unread = [next.token]
    }
    return drafted
  }

  /** Any sequence shows whether it can draft; the first step reads the weights from disk. */
  async #tryOut(): Promise<void> {
    const [pair] = this.#beside
    if (pair === undefined) return
    const [sequence, own] = pair
    refuseOtherVocabulary(sequence.context.model, own.context.model)
    await warmUp((tokens) => computeAndForget(own, tokens), this.#pacer)
  }
}
