/** The latest times to the first token of prompts of similar size. */
type Sizes = { readonly times: number[]; next: number; p95: number | undefined }

const keptTimes = 64

/**
 * The time that a model takes to its first token, learned by powers of two of the prompt's tokens: a time that is slow for a short prompt
 * is usual for a long one.
 */
export class FirstTokenTimes {
  readonly #bySize = new Map<number, Sizes>()

  learn(promptTokens: number, ms: number): void {
    const size = sizeOf(promptTokens)
    const sizes = this.#bySize.get(size) ?? { times: [], next: 0, p95: undefined }
    this.#bySize.set(size, sizes)
    sizes.times[sizes.next] = ms
    sizes.next = (sizes.next + 1) % keptTimes
    sizes.p95 = undefined
  }

  /**
   * The 95th percentile of the time to the first token of such prompts. For a size without samples, uses the next smaller size, doubled for
   * each step, or the next larger one. Undefined before the first token.
   */
  p95(promptTokens: number): number | undefined {
    const size = sizeOf(promptTokens)
    let nearest: number | undefined
    for (const known of this.#bySize.keys()) {
      if (nearest === undefined || isNearer(known, nearest, size)) nearest = known
    }
    const sizes = nearest === undefined ? undefined : this.#bySize.get(nearest)
    if (nearest === undefined || sizes === undefined) return undefined
    sizes.p95 ??= sizes.times.toSorted((a, b) => a - b)[Math.ceil(sizes.times.length * 0.95) - 1]
    return sizes.p95 === undefined ? undefined : sizes.p95 * 2 ** Math.max(0, size - nearest)
  }
}

function sizeOf(promptTokens: number): number {
  return Math.floor(Math.log2(Math.max(1, promptTokens)))
}

/** Smaller sizes first: they predict a larger size better than the reverse. */
function isNearer(one: number, other: number, size: number): boolean {
  if (one <= size) return other > size || one > other
  return other > size && one < other
}
