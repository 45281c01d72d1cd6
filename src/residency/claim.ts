/** A claim for a model, which is granted or refused once. */
export class Claim {
  /** Settles when the claim is granted or refused. */
  readonly answer: Promise<void>
  #isGranted = false
  #resolve: () => void = () => undefined
  #reject: (error: unknown) => void = () => undefined

  constructor() {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // Nobody reads the answer of a claim that is granted immediately or given up.
    this.answer.catch(() => undefined)
  }

  get isGranted(): boolean {
    return this.#isGranted
  }

  grant(): void {
    this.#isGranted = true
    this.#resolve()
  }

  refuse(error: unknown): void {
    this.#reject(error)
  }
}

/** The answer to a preload without free memory. */
export const deferred = new Error('there is no free memory')
