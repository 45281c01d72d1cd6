/** One worker's share of a limit for all of them. The shares add up to the total. */
export function shareOf(total: number, { index, count }: WorkerPlace): number {
  return Math.floor(total / count) + (index < total % count ? 1 : 0)
}

/** Which worker of how many; the first is 0. */
export type WorkerPlace = { readonly index: number; readonly count: number }
