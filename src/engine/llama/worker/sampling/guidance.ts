import { AppError, messageOf } from '../../../../contract/errors.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { OpenContext } from '../context/context.ts'
import { readLast, type SequenceReading } from '../rounds/prefill.ts'
import { sharedPrefix } from '../slots/slots.ts'
import { logOfSum } from './scores.ts'

/** The logits after the negative prompt, and how far the output moves away from them. */
export type Guidance = { readonly logits: Float32Array; readonly scale: number }

/**
 * scale * log p + (1 - scale) * log q, where q are the probabilities after the negative prompt and the same output (`cfg_scale` of exllamav2;
 * https://arxiv.org/abs/2306.17806).
 */
export function guided(logits: Float32Array, { logits: negative, scale }: Guidance): Float32Array {
  const [total, negativeTotal] = [logOfSum(logits), logOfSum(negative)]
  return logits.map((logit, token) => scale * (logit - total) + (1 - scale) * ((negative[token] as number) - negativeTotal))
}

/** The sequences of negative prompts: a context of their own, with as many as there are slots, created on first use. */
export class Guides {
  readonly #open: () => Promise<OpenContext>
  #opening: Promise<Sequence[]> | undefined

  constructor(open: () => Promise<OpenContext>) {
    this.#open = open
  }

  /** Every running choice has a slot, so a sequence is free. It must be given back. */
  async take(): Promise<Sequence> {
    this.#opening ??= this.#open().then(({ sequences }) => [...sequences])
    const free = await this.#opening.catch((error: unknown) => {
      this.#opening = undefined
      throw new AppError('engine-failed', `there is no memory for guidance, which needs a second context: ${messageOf(error)}`, {
        cause: error,
      })
    })
    const sequence = free.pop()
    if (sequence === undefined) throw new Error('more choices are guided than there are slots')
    return sequence
  }

  async giveBack(sequence: Sequence): Promise<void> {
    const free = await this.#opening
    free?.push(sequence)
  }
}

/** The negative prompt of one choice, with a sequence while the choice runs. */
export class Guide {
  readonly #guides: Guides
  readonly #prompt: readonly Token[]
  readonly #reading: Omit<SequenceReading, 'sequence'>
  #sequence: Sequence | undefined

  constructor(guides: Guides, { prompt, reading }: { prompt: readonly Token[]; reading: Omit<SequenceReading, 'sequence'> }) {
    this.#guides = guides
    this.#prompt = prompt
    this.#reading = reading
  }

  /** The logits after the negative prompt and the output so far. */
  async read(output: readonly Token[]): Promise<Float32Array | 'over'> {
    this.#sequence ??= await this.#guides.take()
    const sequence = this.#sequence
    const text = [...this.#prompt, ...output]
    // The sequence may have another text.
    const kept = Math.min(sharedPrefix(sequence.contextTokens, text), text.length - 1)
    if (sequence.nextTokenIndex > kept) await sequence.truncate(kept)
    const unread = text.slice(sequence.nextTokenIndex)
    return readLast(unread, { sequence, ...this.#reading }, (index) => sequence.context.logits(index).slice())
  }

  /** Gives the sequence back until the next reading. */
  release(): void {
    if (this.#sequence !== undefined) void this.#guides.giveBack(this.#sequence)
    this.#sequence = undefined
  }
}
