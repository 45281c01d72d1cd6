import type { LlamaContextSequence, Token } from 'node-llama-cpp'
import { evaluateAll, type LogitIndex, truncate } from './native.ts'
import { NgramDraft } from './ngram-draft.ts'
import type { Rounds } from './rounds.ts'

/** The tokens that were drafted, and those of them that the model chose too. */
export type DraftCounts = { readonly proposed: number; readonly accepted: number }

type Computing = {
  readonly sequence: LlamaContextSequence
  readonly rounds: Rounds
  /** The last token of the text. */
  readonly last: Token
  readonly draft: readonly Token[]
}

/**
 * Speculative decoding of one choice: drafts of what follows are computed in the pass of its last token. Each position is sampled as
 * without a draft, and the first that differs ends it, so the text is what it would have been.
 */
export class Speculation {
  readonly #drafts: NgramDraft
  readonly #maxTokens: number
  #proposed = 0
  #accepted = 0

  constructor({ prompt, maxTokens }: { readonly prompt: Iterable<number>; readonly maxTokens: number }) {
    this.#drafts = new NgramDraft(prompt)
    this.#maxTokens = maxTokens
  }

  get counts(): DraftCounts {
    return { proposed: this.#proposed, accepted: this.#accepted }
  }

  /** The text has another token. */
  push(token: Token): void {
    this.#drafts.push(token)
  }

  /** At most `room` tokens. */
  draft(room: number): readonly Token[] {
    return this.#drafts.draft(Math.min(room, this.#maxTokens))
  }

  /**
   * Computes the last token and its draft in one pass. Returns what `choose` gives for them: for the tokens of the draft up to the first
   * that was not chosen, and for that one. The rest of the draft is erased.
   */
  async compute<T extends { readonly token: Token }>(
    { sequence, rounds, last, draft }: Computing,
    choose: (index: LogitIndex) => Promise<T>,
  ): Promise<T[]> {
    const start = sequence.nextTokenIndex
    const chosen: T[] = []
    let isOpen = true
    const read = async (index: LogitIndex, at: number) => {
      if (!isOpen) return
      const next = await choose(index)
      chosen.push(next)
      isOpen = next.token === draft[at]
    }
    await rounds.join('tokens', () => evaluateAll(sequence, [last, ...draft], read))
    if (sequence.nextTokenIndex > start + chosen.length) await truncate(sequence, start + chosen.length)
    this.#proposed += draft.length
    this.#accepted += chosen.length - 1
    return chosen
  }
}
