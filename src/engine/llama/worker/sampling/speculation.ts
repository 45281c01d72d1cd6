import type { DraftCounts, DraftKind, DraftKinds } from '../../../../contract/usage.ts'
import type { LogitIndex } from '../../binding/context.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { Round, Rounds } from '../rounds/rounds.ts'

export type DraftRequest = {
  /** The sequence that contains the text, except its last token. */
  readonly sequence: Sequence
  /** The round that computes the draft. */
  readonly round: Round
  /** The most tokens that the sequence has room for. */
  readonly room: number
  /** True ends drafting. */
  readonly isOver: () => boolean
}

/** Drafts the continuation of one choice's text. */
export type Drafter = {
  /** What has made the last draft. */
  readonly kind: DraftKind
  /** The tokens that a pass with a draft would give here, where a text shows that without one. */
  readonly expected?: number
  /** Adds a token to the text. */
  push(token: Token): void
  /** Something else drafts here. */
  skip?(): void
  /** May be empty, and has cost nothing then unless it is a promise; never rejects. */
  draft(request: DraftRequest): readonly Token[] | Promise<readonly Token[]>
}

type Computing = Omit<DraftRequest, 'round'> & {
  readonly rounds: Rounds
  readonly last: Token
}

/**
 * Speculative decoding of one choice: drafts of what follows are computed in the pass of its last token. Each position is sampled as
 * without a draft, and the first that differs ends it, so the text is what it would have been.
 */
export class Speculation {
  readonly #drafter: Drafter
  readonly #counts: Partial<Record<DraftKind, DraftCounts>> = {}

  constructor(drafter: Drafter) {
    this.#drafter = drafter
  }

  get counts(): DraftKinds {
    return this.#counts
  }

  /** Adds a token to the text. */
  push(token: Token): void {
    this.#drafter.push(token)
  }

  /**
   * Computes the last token and a draft in one pass. Returns what `choose` gives for them: for the tokens of the draft up to the first
   * that was not chosen, and for that one. The rest of the draft is erased; recurrent layers return to the state before the pass instead, and
   * the next pass reads again what was chosen. `over`: the run ended before the pass.
   */
  async compute<T extends { readonly token: Token }>(
    { sequence, rounds, last, room, isOver }: Computing,
    choose: (index: LogitIndex) => T,
  ): Promise<T[] | 'over'> {
    const start = sequence.nextTokenIndex
    const chosen: T[] = []
    let draft: readonly Token[] = []
    let isOpen = true
    const read = (index: LogitIndex, at: number) => {
      if (!isOpen) return
      const next = choose(index)
      chosen.push(next)
      isOpen = next.token === draft[at]
    }
    const prepare = async (round: Round) => {
      draft = await this.#drafter.draft({ sequence, round, room, isOver })
      if (draft.length > 0 && !(await sequence.prepareDraft(draft.length))) draft = []
      return draft.length > 0
    }
    const evaluate = async () => {
      if (isOver()) return
      try {
        await sequence.computeAll([last, ...draft], read)
      } catch (error) {
        if (!rounds.isInterrupted) throw error
      }
    }
    await rounds.join('tokens', evaluate, { prepare, isOver })
    if (chosen.length === 0) return 'over'
    if (sequence.nextTokenIndex > start + chosen.length) await sequence.truncate(start + chosen.length)
    this.#count(draft.length, chosen.length - 1)
    return chosen
  }

  #count(proposed: number, accepted: number): void {
    if (proposed === 0) return
    const { kind } = this.#drafter
    const before = this.#counts[kind]
    this.#counts[kind] = { proposed: proposed + (before?.proposed ?? 0), accepted: accepted + (before?.accepted ?? 0) }
  }
}
