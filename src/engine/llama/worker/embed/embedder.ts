import { AppError } from '../../../../contract/errors.ts'
import { Context, type ContextOptions } from '../../binding/context.ts'
import type { Model } from '../../binding/model.ts'
import { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { Turns } from '../../binding/turns.ts'
import { readAtOnce, readInSteps } from '../rounds/prefill.ts'
import { PrefillPacer } from '../rounds/prefill-pacer.ts'
import { Rounds } from '../rounds/rounds.ts'
import { PooledVector } from './pooled-vector.ts'
import { isCausal, type Pooling, poolingOf } from './pooling.ts'

const smallestContext = 512
/** llama.cpp also computes and keeps the logits of every token of a step: 100 KB each and more. */
const largestStep = 128

type EmbedderOptions = {
  readonly contextLength: number
  readonly threads: number
  readonly rope: ContextOptions['rope']
  /** The longest that a step may take. */
  readonly stopWithinMs: number
}

type Open = { readonly sequence: Sequence; readonly size: number; readonly rounds: Rounds }

/**
 * Turns texts into vectors, one at a time. It has its own context, created on first use and as large as the longest text so far
 * needs.
 */
export class Embedder {
  readonly #model: Model
  readonly #threads: number
  readonly #rope: ContextOptions['rope']
  readonly #pacer: PrefillPacer
  readonly #isCausal: boolean
  readonly pooling: Pooling
  /** Tokens that one text may have. */
  readonly maxTokens: number
  #open: Open | undefined
  readonly #turns = new Turns()

  constructor(model: Model, { contextLength, threads, rope, stopWithinMs }: EmbedderOptions) {
    this.#model = model
    this.#threads = threads
    this.#rope = rope
    this.#pacer = new PrefillPacer({ largestStep, stopWithinMs })
    this.#isCausal = isCausal(model)
    this.pooling = poolingOf(model)
    this.maxTokens = this.#isCausal ? contextLength : Math.min(contextLength, model.trainContextSize)
  }

  /** Ends the pass that is computed, if its text is cancelled. */
  interruptIfOver(): void {
    this.#open?.rounds.interruptIfOver()
  }

  /** The text's vector; texts are computed in order. `cancelled` when `cancelled()` was true between two steps, or ended one. */
  embed(tokens: readonly Token[], cancelled: () => boolean): Promise<Float32Array | 'cancelled'> {
    return this.#turns.take(() => (cancelled() ? 'cancelled' : this.#compute(tokens, cancelled)))
  }

  async #compute(tokens: readonly Token[], cancelled: () => boolean): Promise<Float32Array | 'cancelled'> {
    const { sequence, rounds } = await this.#openFor(tokens.length)
    const { context } = sequence
    const pooled = new PooledVector(this.pooling)
    await sequence.clearHistory()
    const compute = async (step: Token[]) => {
      // A text's vector is pooled of all of its tokens.
      await sequence.computeAll(step, () => undefined)
      pooled.add(context.vector(), step.length)
    }
    const reading = { pacer: this.#pacer, rounds, isOver: cancelled, depth: 0 }
    const isRead = await (this.#isCausal ? readInSteps(tokens, reading, compute) : readAtOnce(tokens, reading, compute))
    if (!isRead) return 'cancelled'
    return pooled.value
  }

  async #openFor(tokens: number): Promise<Open> {
    if (this.#open !== undefined && this.#open.size >= tokens) return this.#open
    await this.#open?.sequence.context.dispose()
    this.#open = undefined
    const size = Math.min(this.maxTokens, Math.max(smallestContext, 2 ** Math.ceil(Math.log2(tokens))))
    const { fileInsights } = this.#model
    if (fileInsights.hasEncoder && fileInsights.hasDecoder) {
      throw new AppError('invalid-request', 'this model is a translation model and cannot embed texts; choose another model', {
        at: ['model'],
      })
    }
    const context = await Context.create(this.#model, {
      contextSize: size,
      sequences: 1,
      batchSize: this.#isCausal ? Math.min(largestStep, size) : size,
      threads: this.#threads,
      rope: this.#rope,
      vectors: { pooling: this.pooling },
    })
    this.#open = { sequence: new Sequence(context, 0), size, rounds: new Rounds({ interrupt: context.interrupt }) }
    return this.#open
  }
}
