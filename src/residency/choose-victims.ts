/** A loaded model, as the choice of what to unload sees it. */
export type Candidate = {
  readonly bytes: number
  readonly isPinned: boolean
  readonly isIdle: boolean
  readonly lastUsedMs: number
  /** From when on it may go. */
  readonly freeFromMs: number
}

/** What has to go now, or when it is worth asking again. */
export type Choice<T> =
  | { readonly type: 'now'; readonly victims: readonly T[] }
  | { readonly type: 'later'; readonly atMs: number }
  /** Even all of them are not enough, yet: some load still, or are kept by those who use them. */
  | { readonly type: 'never' }

/**
 * The models that have to go so that `neededBytes` become free: idle ones first, of these the least recently used, and no more than
 * necessary. Pinned models only go when all others are not enough.
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

/** The first that are enough, without those that turn out not to be needed: the best of them stay. */
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
