/** After this many failures, the same call is not tried again. */
const maxFailures = 3
/** After this many calls that were already answered, or are no longer allowed, the model has to answer. */
const lastRepetition = 2

type Past = { hasSucceeded: boolean; failures: number }

/** Remembers the calls of one reply, and decides whether the model may make more. */
export class LoopRules {
  readonly #past = new Map<string, Past>()
  #turnsLeft: number
  #repetitions = 0
  readonly #callsLeft: Map<string, number>

  /** `maxCalls`: executions allowed by tool name; `*`: of all together. */
  constructor(maxTurns: number, maxCalls: Readonly<Record<string, number>> = {}) {
    this.#turnsLeft = maxTurns
    this.#callsLeft = new Map(Object.entries(maxCalls))
  }

  /** Counts an execution of a tool; false if none is left. */
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

  /** Begins a turn of the model; returns whether it may call tools. A turn that may not is the last one. */
  beginTurn(): boolean {
    if (this.#turnsLeft <= 0 || this.#repetitions >= lastRepetition) return false
    this.#turnsLeft -= 1
    return true
  }

  /** Makes the next turn the last one. */
  forceAnswer(): void {
    this.#turnsLeft = 0
  }

  /** Whether to execute a call: not if the same one has succeeded, or keeps failing. */
  admits(key: string): boolean {
    const past = this.#past.get(key)
    if (past === undefined || (!past.hasSucceeded && past.failures < maxFailures)) return true
    this.#repetitions += 1
    return false
  }

  /** Records the outcome of an executed call. */
  note(key: string, isError: boolean): void {
    const past = this.#past.get(key) ?? { hasSucceeded: false, failures: 0 }
    if (isError) past.failures += 1
    else past.hasSucceeded = true
    this.#past.set(key, past)
  }
}
