/** How often a call may fail before the same one is not tried again. */
const maxFailures = 3
/** At this repetition of calls that were answered already, or may not be made any more, the model has to answer. */
const lastRepetition = 2

type Past = { hasSucceeded: boolean; failures: number }

/** What the loop of one reply remembers of its calls, and whether the model may make more. */
export class LoopRules {
  readonly #past = new Map<string, Past>()
  #turnsLeft: number
  #repetitions = 0
  readonly #callsLeft: Map<string, number>

  /** `maxCalls`: how often tools may be executed, by their names; `*`, all of them together. */
  constructor(maxTurns: number, maxCalls: Readonly<Record<string, number>> = {}) {
    this.#turnsLeft = maxTurns
    this.#callsLeft = new Map(Object.entries(maxCalls))
  }

  /** Counts an execution of a tool; false if there may be no more. */
  countCall(name: string): boolean {
    const limits = ['*', name].flatMap((limit) => {
      const left = this.#callsLeft.get(limit)
      return left === undefined ? [] : [[limit, left] as const]
    })
    if (limits.some(([, left]) => left <= 0)) {
      // A model that keeps asking has to answer.
      this.#repetitions += 1
      return false
    }
    for (const [limit, left] of limits) this.#callsLeft.set(limit, left - 1)
    return true
  }

  /** Begins a turn of the model: whether it may call tools. A turn that may not is the last one. */
  beginTurn(): boolean {
    if (this.#turnsLeft <= 0 || this.#repetitions >= lastRepetition) return false
    this.#turnsLeft -= 1
    return true
  }

  /** The next turn is the last one. */
  forceAnswer(): void {
    this.#turnsLeft = 0
  }

  /** Whether a call is executed: not if the same one has been, or fails again and again. */
  admits(key: string): boolean {
    const past = this.#past.get(key)
    if (past === undefined || (!past.hasSucceeded && past.failures < maxFailures)) return true
    this.#repetitions += 1
    return false
  }

  /** An executed call has ended. */
  note(key: string, isError: boolean): void {
    const past = this.#past.get(key) ?? { hasSucceeded: false, failures: 0 }
    if (isError) past.failures += 1
    else past.hasSucceeded = true
    this.#past.set(key, past)
  }
}
