import { LruMap } from '../../../../base/lru-map.ts'
import type { Model } from '../../binding/model.ts'
import { PassTimes } from '../../binding/pass-times.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { ConstrainedOutput } from './constrained-output.ts'
import type { Drafter, DraftRequest } from './speculation.ts'

const limits = {
  tokens: 8,
  /** More characters than `tokens` tokens have. */
  characters: 64,
  /** The limit of a pass, if each of its tokens takes as long as one alone. A request that arrives meanwhile waits for it. */
  passMs: 1000,
}
/** Where drafts cost time, one in this many is tried anyway: the load of the machine changes. */
const untilTrial = 64
/** A token with a draft must take at most this share of its time without. */
const worthIt = 0.95
const keptTexts = 256

/**
 * Drafts what a grammar makes certain, such as the names of an object's properties, for streams that run alone. Longer passes save time on
 * some machines and models, so it measures.
 */
export class CertainDrafts {
  readonly #model: Pick<Model, 'tokenize'>
  readonly #now: () => number
  readonly #tokens = new LruMap<string, readonly Token[]>({ max: keptTexts })
  /** The time of a token by the length of its draft, and how often a draft of this length was skipped. */
  readonly #times = new PassTimes()
  readonly #skipped: number[] = []

  constructor(model: Pick<Model, 'tokenize'>, now: () => number = () => performance.now()) {
    this.#model = model
    this.#now = now
  }

  /** Drafts one output; where the grammar leaves a choice, `other` drafts. */
  open(constrained: Pick<ConstrainedOutput, 'certain'>, other?: Drafter): Drafter {
    let measured: { readonly length: number; readonly startedMs: number; tookMs: number; tokens: number } | undefined
    return {
      get kind() {
        return measured === undefined ? (other?.kind ?? 'certain') : 'certain'
      },
      push: (token) => {
        other?.push(token)
        if (measured === undefined) return
        if (measured.tokens === 0) measured.tookMs = this.#now() - measured.startedMs
        measured.tokens += 1
      },
      draft: (request) => {
        if (measured !== undefined) this.#times.learn(measured.length, measured.tookMs / Math.max(1, measured.tokens))
        const draft = this.#draft(constrained, request)
        measured =
          draft.length === 0
            ? undefined
            : { length: draft.length, startedMs: this.#now(), tookMs: Number.POSITIVE_INFINITY, tokens: 0 }
        if (draft.length === 0) return other?.draft(request) ?? []
        other?.skip?.()
        return draft
      },
    }
  }

  #draft(constrained: Pick<ConstrainedOutput, 'certain'>, { round, room }: DraftRequest): readonly Token[] {
    // Beside other streams, llama.cpp computes a draft in a separate pass. Without the time of a pass there is nothing to compare with.
    if (round.tokens !== 1 || round.prompts > 0 || round.tokensMs === 0) return []
    const most = Math.min(limits.tokens, room, Math.floor(limits.passMs / round.tokensMs) - 1)
    if (most <= 0) return []
    const draft = this.#tokensOf(constrained.certain(limits.characters)).slice(0, most)
    return draft.length > 0 && this.#isWorthIt(draft.length, round.tokensMs) ? draft : []
  }

  /** Without the last token, which may be longer in the actual output. */
  #tokensOf(text: string): readonly Token[] {
    if (text.length < 2) return []
    return this.#tokens.find(text, () => this.#model.tokenize(text, false, 'trimLeadingSpace').slice(0, -1))
  }

  #isWorthIt(length: number, aloneMs: number): boolean {
    const tokenMs = this.#times.measured(length)
    if (tokenMs === undefined || tokenMs < worthIt * aloneMs) return true
    const skipped = ((this.#skipped[length] ?? 0) + 1) % untilTrial
    this.#skipped[length] = skipped
    return skipped === 0
  }
}
