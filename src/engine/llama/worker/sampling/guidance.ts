import { AppError, messageOf } from '../../../../contract/errors.ts'
import type { LogitIndex } from '../../binding/context.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { OpenContext } from '../context/context.ts'
import { sharedPrefix } from '../slots/slots.ts'

/** What the model says after the negative prompt, and how far the output goes away from it. */
export type Guidance = { readonly logits: Float32Array; readonly scale: number }

/**
 * scale * log p + (1 - scale) * log q, where q are the probabilities after the negative prompt and the same output (`cfg_scale` of exllamav2;
 * https://arxiv.org/abs/2306.17806).
 */
export function guided(logits: Float32Array, { logits: negative, scale }: Guidance): Float32Array {
  const [total, negativeTotal] = [logSum(logits), logSum(negative)]
  return logits.map((logit, token) => scale * (logit - total) + (1 - scale) * ((negative[token] as number) - negativeTotal))
}

function logSum(logits: Float32Array): number {
  const max = logits.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY)
  return max + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0))
}

/** Computes tokens of a sequence, and reads the logits of the last one. */
type Compute = (
  sequence: Sequence,
  tokens: readonly Token[],
  read: (index: LogitIndex) => Float32Array,
) => Promise<Float32Array | 'over'>

/** The sequences of negative prompts: a context of their own, with as many as there are slots, which is made when the first is needed. */
export class Guides {
  readonly #open: () => Promise<OpenContext>
  #opening: Promise<Sequence[]> | undefined

  constructor(open: () => Promise<OpenContext>) {
    this.#open = open
  }

  /** Every choice that runs has a slot, so that there is one for it. It must be given back. */
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

/** The logits after a text; the sequence may have another one. */
export async function readGuide(sequence: Sequence, text: readonly Token[], compute: Compute): Promise<Float32Array | 'over'> {
  const kept = Math.min(sharedPrefix(sequence.contextTokens, text), text.length - 1)
  if (sequence.nextTokenIndex > kept) await sequence.truncate(kept)
  return compute(sequence, text.slice(sequence.nextTokenIndex), (index) => sequence.context.logits(index).slice())
}
