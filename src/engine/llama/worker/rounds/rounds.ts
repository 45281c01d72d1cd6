import type { Interrupt } from '../../binding/context.ts'
import { PassTimes } from '../../binding/pass-times.ts'
import { PassSize } from './pass-size.ts'

/** The sequences in a round: those that generate a token, and those that read a step of a prompt. */
export type Round = {
  readonly tokens: number
  readonly prompts: number
  /** How long such a round takes without prompts, in ms; 0 if that is unknown. */
  readonly tokensMs: number
  /** Its pass is interrupted as soon as one of its prompts is over; those of the others are computed again. */
  readonly endsForAny?: boolean
}

type Kind = 'tokens' | 'prompts'
/** Work before the round computes, such as drafting; true: it makes the round longer. Never rejects. */
type Prepare = (round: Round) => Promise<boolean>
type Joining = {
  readonly prepare?: Prepare
  /** Whether the result is no longer wanted; absent: it always is. `isInterrupted` shows why a pass failed. */
  readonly isOver?: () => boolean
}
type Waiting = Joining & { readonly kind: Kind; readonly start: (round: Round) => void }

type Options = {
  /** Ends the passes of the context; absent: each is computed to its end. */
  readonly interrupt?: Interrupt | undefined
  /** Sequences that generate a token may be computed one by one where that is faster. */
  readonly mayDivide?: boolean
  readonly now?: () => number
}

/**
 * The rounds of one context. All waiting work starts in the same tick, once it is prepared, so that llama.cpp computes it in one pass; what
 * arrives meanwhile waits for the next round. A round ends when all of its work has ended, and the next one starts when no promise is left
 * to settle: by then, everything that continues has joined again, and nobody else is waited for. Where that is faster, a round without
 * prompts computes only one of the waiting sequences (`PassSize`). Between two rounds nothing is queued, so that work that must not overlap
 * with a pass, such as erasing and copying tokens, has its turn.
 */
export class Rounds {
  readonly #now: () => number
  readonly #interrupt: Interrupt | undefined
  readonly #times = new PassTimes()
  readonly #size: PassSize | undefined
  readonly #waiting: Waiting[] = []
  #started: readonly Waiting[] = []
  #running = 0
  #isOpening = false
  #round: Round = { tokens: 0, prompts: 0, tokensMs: 0 }
  #startedMs = 0
  #isInterrupted = false
  /** An interrupt has cost others their step: they get one before the next. */
  #owesStep = false
  #isLonger = false

  constructor({ interrupt, mayDivide = false, now = () => performance.now() }: Options = {}) {
    this.#interrupt = interrupt
    this.#size = mayDivide ? new PassSize(this.#times) : undefined
    this.#now = now
  }

  /** The pass of this round was or will be interrupted. */
  get isInterrupted(): boolean {
    return this.#isInterrupted
  }

  /** Interrupts the pass if all participants are over, or one where it ends for any. */
  interruptIfOver(): void {
    if (this.#interrupt === undefined || this.#running === 0 || this.#isInterrupted) return
    const over = this.#started.filter(({ isOver }) => isOver?.() === true)
    const isOfAll = over.length === this.#started.length
    if (over.length === 0 || !(isOfAll || this.#round.endsForAny === true)) return
    this.#owesStep = !isOfAll
    this.#isInterrupted = true
    this.#interrupt.raise()
  }

  /** Computes in the next round. */
  async join<T>(kind: Kind, compute: (round: Round) => Promise<T>, joining: Joining = {}): Promise<T> {
    const round = await new Promise<Round>((start) => {
      this.#waiting.push({ kind, start, ...joining })
      this.#openNext()
    })
    try {
      return await compute(round)
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#end()
    }
  }

  #end(): void {
    const { tokens, prompts } = this.#round
    if (this.#isInterrupted) this.#interrupt?.lower()
    else if (prompts > 0) this.#owesStep = false
    this.#isInterrupted = false
    if (prompts === 0 && !this.#isLonger) this.#times.learn(tokens, this.#now() - this.#startedMs)
    this.#openNext()
  }

  #openNext(): void {
    if (this.#isOpening || this.#running > 0 || this.#waiting.length === 0) return
    this.#isOpening = true
    // Runs after all promises that can settle now, and before the event loop turns: nothing else comes between two passes.
    process.nextTick(() => this.#open())
  }

  #open(): void {
    const starting = this.#takeWaiting()
    this.#isOpening = false
    this.#started = starting
    this.#running = starting.length
    const tokens = countTokens(starting)
    const prompts = starting.length - tokens
    const endsForAny = this.#interrupt !== undefined && tokens === 0 && prompts > 1 && !this.#owesStep
    const round = { tokens, prompts, tokensMs: this.#times.of(tokens), ...(endsForAny && { endsForAny }) }
    this.#round = round
    this.#startedMs = this.#now()
    const compute = () => {
      for (const { start } of starting) start(round)
    }
    const preparing = starting.flatMap(({ prepare }) => (prepare === undefined ? [] : [prepare(round)]))
    this.#isLonger = false
    if (preparing.length === 0) compute()
    else
      void Promise.all(preparing).then((longer) => {
        this.#isLonger = longer.includes(true) && this.#times.measured(tokens) !== undefined
        compute()
      })
  }

  /** The work of the next round; the rest keeps waiting. */
  #takeWaiting(): Waiting[] {
    const { length } = this.#waiting
    const hasPrompts = countTokens(this.#waiting) < length
    const taken = hasPrompts ? 'all' : (this.#size?.next(length) ?? 'all')
    if (taken === 'all') return this.#waiting.splice(0)
    return this.#waiting.splice(taken === 'first' ? 0 : -1, 1)
  }
}

function countTokens(works: readonly Waiting[]): number {
  return works.filter(({ kind }) => kind === 'tokens').length
}
