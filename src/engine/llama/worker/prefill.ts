/** The target duration of one prefill step, so that a cancelled request frees its slot soon. */
const stepMs = 60
const smallestChunk = 16
const firstChunk = 32
/** The first step of a new model reads its weights from disk; the second shows its speed. */
const warmUpSteps = 2

/**
 * Chooses how many tokens of a prompt are computed in one step. llama.cpp cannot stop inside a step, so the duration of a step is the
 * delay of a cancellation, for all requests of the context.
 */
export class PrefillPacer {
  readonly #largestChunk: number
  readonly #now: () => number
  #reading = 0
  #tokensPerMs: number | undefined

  constructor(options: { largestChunk: number; now?: () => number }) {
    this.#largestChunk = options.largestChunk
    this.#now = options.now ?? (() => performance.now())
  }

  /** Tokens for the next step of one reader. */
  get chunkSize(): number {
    const budget = this.#tokensPerMs === undefined ? firstChunk : Math.floor(this.#tokensPerMs * stepMs)
    const share = Math.floor(budget / Math.max(1, this.#reading))
    return Math.max(smallestChunk, Math.min(this.#largestChunk, share))
  }

  enter(): void {
    this.#reading += 1
  }

  leave(): void {
    this.#reading -= 1
  }

  /** Starts the clock for a step; call the result when the step's tokens are computed. */
  measure(tokens: number): () => void {
    const startedMs = this.#now()
    return () => {
      const tokensPerMs = (tokens * Math.max(1, this.#reading)) / Math.max(0.1, this.#now() - startedMs)
      this.#tokensPerMs = this.#tokensPerMs === undefined ? tokensPerMs : this.#tokensPerMs * 0.7 + tokensPerMs * 0.3
    }
  }
}

/** Splits a prompt into steps; each is timed until the next one is requested. */
export async function* promptChunks<T>(tokens: readonly T[], pacer: PrefillPacer): AsyncGenerator<T[], void, void> {
  pacer.enter()
  try {
    for (let from = 0; from < tokens.length; ) {
      const chunk = tokens.slice(from, from + pacer.chunkSize)
      const finished = pacer.measure(chunk.length)
      yield chunk
      finished()
      from += chunk.length
    }
  } finally {
    pacer.leave()
  }
}

/** Computes a few tokens, so that the weights are in memory and the first prompt is read in steps of the right size. */
export async function warmUp(compute: (tokens: number) => Promise<void>, pacer: PrefillPacer): Promise<void> {
  for (let step = 0; step < warmUpSteps; step++) {
    const finished = pacer.measure(smallestChunk)
    await compute(smallestChunk)
    if (step > 0) finished()
  }
}
