import { AppError } from '../../../../contract/errors.ts'
import { Context } from '../../binding/context.ts'
import type { ContextOptions } from '../../binding/context-params.ts'
import type { Model } from '../../binding/model.ts'
import { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { Turns } from '../../binding/turns.ts'
import { readAtOnce, readInSteps } from '../rounds/prefill.ts'
import { interruptibleMs, PrefillPacer } from '../rounds/prefill-pacer.ts'
import { Rounds } from '../rounds/rounds.ts'
import { PooledVector } from './pooled-vector.ts'
import { isCausal, type Pooling, poolingOf } from './pooling.ts'

const smallestContext = 512
/** llama.cpp also computes and keeps the logits of every token of a step: 100 KB each and more. */
const largestStep = 128
/** The most tokens of texts computed together; a longer text is computed alone. */
const mostTokens = 256
const mostTexts = 32

type EmbedderOptions = {
  readonly contextLength: number
  readonly threads: number
  readonly rope: ContextOptions['rope']
  /** The longest that a step may take, unless it can be interrupted. */
  readonly stopWithinMs: number
}

type Open = { readonly size: number; readonly free: Sequence[]; readonly rounds: Rounds; readonly pacer: PrefillPacer }
type Result = Float32Array | 'cancelled'
type Text = {
  readonly tokens: readonly Token[]
  readonly cancelled: () => boolean
  readonly end: (result: Promise<Result>) => void
}

/**
 * Turns texts into vectors in the order of their arrival, several short ones in a pass. It has its own context, created on first use and as
 * large as the longest text so far needs.
 */
export class Embedder {
  readonly #model: Model
  readonly #options: EmbedderOptions
  readonly #isCausal: boolean
  readonly pooling: Pooling
  /** Tokens that one text may have. */
  readonly maxTokens: number
  #open: Open | undefined
  readonly #waiting: Text[] = []
  /** The tokens of the texts that are being computed. */
  #tokens = 0
  readonly #turns = new Turns()

  constructor(model: Model, options: EmbedderOptions) {
    this.#model = model
    this.#options = options
    this.#isCausal = isCausal(model)
    this.pooling = poolingOf(model)
    const { contextLength } = options
    this.maxTokens = this.#isCausal ? contextLength : Math.min(contextLength, model.trainContextSize)
  }

  /** Ends the pass that is computed, if all of its texts are cancelled. */
  interruptIfOver(): void {
    this.#open?.rounds.interruptIfOver()
  }

  /** The text's vector. `cancelled` when `cancelled()` was true between two steps, or ended one. */
  embed(tokens: readonly Token[], cancelled: () => boolean): Promise<Result> {
    return new Promise((end) => {
      this.#waiting.push({ tokens, cancelled, end })
      this.#startWaiting()
    })
  }

  /** Starts as many waiting texts as can be computed together. */
  #startWaiting(): void {
    void this.#turns.take(async () => {
      for (let next = this.#waiting[0]; next !== undefined && this.#hasRoom(next); next = this.#waiting[0]) {
        this.#waiting.shift()
        this.#tokens += next.tokens.length
        try {
          next.end(this.#compute(next, await this.#openFor(next.tokens.length)))
        } catch (error) {
          this.#tokens -= next.tokens.length
          next.end(Promise.reject(error))
        }
      }
    })
  }

  #hasRoom({ tokens: { length } }: Text): boolean {
    if (this.#tokens === 0) return true
    if (this.#open === undefined || this.#open.free.length === 0) return false
    return this.#tokens + length <= Math.min(mostTokens, this.#open.size)
  }

  async #compute({ tokens, cancelled }: Text, { free, rounds, pacer }: Open): Promise<Result> {
    const sequence = free.pop() as Sequence
    try {
      if (cancelled()) return 'cancelled'
      const pooled = new PooledVector(this.pooling)
      const compute = async (step: Token[]) => {
        // A text's vector is pooled of all of its tokens.
        await sequence.computeAll(step, () => undefined)
        pooled.add(sequence.context.vector(sequence.id), step.length)
      }
      const reading = { pacer, rounds, isOver: cancelled, depth: 0 }
      const isRead = await (this.#isCausal ? readInSteps(tokens, reading, compute) : readAtOnce(tokens, reading, compute))
      return isRead ? pooled.value : 'cancelled'
    } finally {
      await sequence.clearHistory()
      free.push(sequence)
      this.#tokens -= tokens.length
      this.#startWaiting()
    }
  }

  async #openFor(tokens: number): Promise<Open> {
    if (this.#open !== undefined && this.#open.size >= tokens) return this.#open
    await this.#open?.free[0]?.context.dispose()
    this.#open = undefined
    const size = Math.min(this.maxTokens, Math.max(smallestContext, 2 ** Math.ceil(Math.log2(tokens))))
    const { fileInsights } = this.#model
    if (fileInsights.hasEncoder && fileInsights.hasDecoder) {
      throw new AppError('invalid-request', 'this model is a translation model and cannot embed texts; choose another model', {
        at: ['model'],
      })
    }
    const { threads, rope, stopWithinMs } = this.#options
    const batchSize = this.#isCausal ? Math.min(largestStep, size) : size
    const context = await Context.create(this.#model, {
      contextSize: size,
      // Recurrent layers have a memory for each sequence, even for an empty one.
      sequences: fileInsights.isHybrid || fileInsights.isRecurrent ? 1 : Math.min(mostTexts, batchSize),
      batchSize,
      threads,
      rope,
      vectors: { pooling: this.pooling },
    })
    const pacer = new PrefillPacer({
      largestStep,
      stopWithinMs: context.interrupt === undefined ? stopWithinMs : Math.max(stopWithinMs, interruptibleMs),
      isDivided: false,
    })
    const free = Array.from({ length: context.sequences }, (_, id) => new Sequence(context, id))
    this.#open = { size, free, rounds: new Rounds({ interrupt: context.interrupt }), pacer }
    return this.#open
  }
}
