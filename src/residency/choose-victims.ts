/** A loaded model, as a candidate for unloading. */
export type Candidate = {
  readonly bytes: number
  readonly isPinned: boolean
  readonly isIdle: boolean
  readonly lastUsedMs: number
  /** The time from which it may be unloaded. */
  readonly freeFromMs: number
}

/** What to unload now, or when to decide again. */
export type Choice<T> =
  | { readonly type: 'now'; readonly victims: readonly T[] }
  | { readonly type: 'later'; readonly atMs: number }
  /** Unloading all of them is not enough yet: some are loading, or are kept by their users. */
  | { readonly type: 'never' }

/**
 * The models to unload so that `neededBytes` become free: idle ones first, of these the least recently used, and no more than necessary.
 * Pinned models are used only if all others are not enough.
 */
export function chooseVictims<T extends Candidate>(candidates: readonly T[], neededBytes: number, nowMs: number): Choice<T> {
  const unpinned = candidates.filter(({ isPinned }) => !isPinned)
  const pool = sumBytes(unpinned) >= neededBytes ? unpinned : candidates
  if (sumBytes(pool) < neededBytes) return { type: 'never' }
  const free = pool.filter(({ freeFromMs }) => freeFromMs <= nowMs)
  if (sumBytes(free) >= neededBytes) return { type: 'now', victims: fewest(free.sort(worstFirst), neededBytes) }
  return { type: 'later', atMs: Math.min(...pool.filter(({ freeFromMs }) => freeFromMs > nowMs).map((one) => one.freeFromMs)) }
}

function worstFirst(a: Candidate, b: Candidate): number {
  return Number(a.isPinned) - Number(b.isPinned) || Number(b.isIdle) - Number(a.isIdle) || a.lastUsedMs - b.lastUsedMs
}

/** The first that are enough, minus those that turn out to be unnecessary, the best of them first. */
function fewest<T extends Candidate>(sorted: readonly T[], neededBytes: number): readonly T[] {
  const taken: T[] = []
  for (const one of sorted) {
    if (sumBytes(taken) >= neededBytes) break
    taken.push(one)
  }
  return taken.reduceRight<readonly T[]>((kept, one) => {
    const without = kept.filter((other) => other !== one)
    return sumBytes(without) >= neededBytes ? without : kept
  }, taken)
}

export function sumBytes(models: readonly { readonly bytes: number }[]): number {
  return models.reduce((sum, { bytes }) => sum + bytes, 0)
}
