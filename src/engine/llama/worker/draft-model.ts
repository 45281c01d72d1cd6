import type { Llama, LlamaContextSequence, Token } from 'node-llama-cpp'
import { messageOf } from '../../../contract/errors.ts'
import type { LoadOptions } from '../channel/ipc.ts'
import { type ContextOptions, openContext } from './context.ts'
import { computeTokens, createSampler, evaluateLast, refuseOtherVocabulary, sampleBest, truncate } from './native.ts'
import { readStep, warmUp } from './prefill.ts'
import { PrefillPacer } from './prefill-pacer.ts'
import { Rounds } from './rounds.ts'
import { sharedPrefix } from './slots.ts'
import type { Drafter, DraftRequest } from './speculation.ts'

type Settings = NonNullable<LoadOptions['draft']>

/** Unless configured. A longer draft, or a less certain one, is computed in vain too often (docs/decisions/0036). */
const defaults = { maxTokens: 8, minTokens: 0, minProbability: 0.6 }
/** What the draft model may take to read a step of a text that it does not know yet; the rest of a round is for the model itself. */
const longestStepMs = 110

type Parts = {
  readonly settings: Settings
  readonly context: ContextOptions
  /** The sequences of the model that it drafts for. */
  readonly sequences: readonly LlamaContextSequence[]
  readonly onWarning: (message: string) => void
}

/** A small model that drafts tokens for another one. It has a context of its own, with a sequence beside each of the other's. */
export class DraftModel {
  readonly #limits: Required<Pick<Settings, 'maxTokens' | 'minTokens' | 'minProbability'>>
  readonly #beside: ReadonlyMap<LlamaContextSequence, LlamaContextSequence>
  readonly #sampler: ReturnType<typeof createSampler>
  readonly #rounds = new Rounds()
  readonly #pacer: PrefillPacer
  readonly #warn: Parts['onWarning']
  #hasWarned = false

  private constructor(
    { settings, sequences, onWarning }: Parts,
    own: readonly [LlamaContextSequence, ...LlamaContextSequence[]],
  ) {
    const [{ model, context }] = own
    const { maxTokens, minTokens, minProbability } = { ...defaults, ...settings }
    this.#limits = { maxTokens, minTokens, minProbability }
    this.#beside = new Map(sequences.map((sequence, index) => [sequence, own[index] as LlamaContextSequence]))
    this.#sampler = createSampler(model)
    this.#sampler.applyConfig({ temperature: 0 })
    this.#pacer = new PrefillPacer({ largestStep: Math.max(1, context.batchSize - own.length), longestMs: longestStepMs })
    this.#warn = onWarning
  }

  /** Throws llama.cpp's own errors, and one for a model that cannot draft for the other. */
  static async load(llama: Llama, parts: Parts): Promise<DraftModel> {
    const { settings, context: options, sequences } = parts
    const { modelPath, gpuLayers } = settings
    try {
      const model = await llama.loadModel({ modelPath, ...(gpuLayers !== undefined && { gpuLayers }) })
      const [first, ...others] = (await openContext(model, options)).sequences
      const [target] = sequences
      if (first === undefined || target === undefined) throw new Error('it has no slots')
      refuseOtherVocabulary(target.context, first.context)
      if (first.needsCheckpoints) throw new Error('it cannot take back tokens (recurrent layers or a sliding window)')
      const draft = new DraftModel(parts, [first, ...others])
      await draft.#warmUp(first)
      return draft
    } catch (error) {
      throw new Error(`the draft model '${modelPath}' cannot be used: ${messageOf(error)}`, { cause: error })
    }
  }

  /** Drafts the text of one choice that begins with this prompt. */
  open(prompt: Iterable<number>): Drafter {
    const text = [...prompt] as Token[]
    return { push: (token) => void text.push(token), draft: (request) => this.#draft(text, request) }
  }

  async #draft(text: readonly Token[], request: DraftRequest): Promise<readonly Token[]> {
    // The time of a round with prompts is theirs.
    if (request.round.prompts > 0) return []
    const sequence = this.#beside.get(request.sequence) as LlamaContextSequence
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

  /** Reads what the sequence lacks of the text, and goes on; a long rest is read in several rounds. */
  async #continue(
    sequence: LlamaContextSequence,
    text: readonly Token[],
    { room, isOver }: DraftRequest,
  ): Promise<readonly Token[]> {
    // The last token is always computed, for its logits.
    const known = Math.min(sharedPrefix(sequence.contextTokens, text), text.length - 1)
    if (sequence.nextTokenIndex > known) await truncate(sequence, known)
    let unread = text.slice(known)
    const { maxTokens, minProbability } = this.#limits
    if (unread.length > maxTokens + 1) {
      const reading = { pacer: this.#pacer, rounds: this.#rounds, isOver, depth: known }
      await readStep(unread.slice(0, -1), reading, (step) => computeTokens(sequence, step))
      return []
    }
    const drafted: Token[] = []
    while (drafted.length < Math.min(room, maxTokens) && !isOver()) {
      const next = await this.#rounds.join('tokens', () =>
        evaluateLast(sequence, unread, (index) => sampleBest(sequence, { sampler: this.#sampler, index })),
      )
      if (next.probability < minProbability || sequence.model.isEogToken(next.token)) break
      drafted.push(next.token)
      unread = [next.token]
    }
    return drafted
  }

  async #warmUp(sequence: LlamaContextSequence): Promise<void> {
    const { bos, eos, nl } = sequence.model.tokens
    const token = bos ?? eos ?? nl
    if (token === null) return
    const compute = async (tokens: number) => {
      await computeTokens(
        sequence,
        Array.from({ length: tokens }, () => token),
      )
      await sequence.clearHistory()
    }
    await warmUp(compute, this.#pacer)
  }
}
