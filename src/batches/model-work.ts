import type { SchedulerLoad } from '../contract/scheduler.ts'
import type { LineOrder } from './line-order.ts'

/** A process has the lines of about this time ahead: more would be kept from others, and fewer cost a query for a few lines. */
const aheadMs = 250
const mostAhead = 250
/** A pace is of this time, at least. */
const shortestMs = 50

/** The lines of a model that belong to this process. */
export type ModelWork = {
  /** As the lines name the model. */
  readonly name: string
  /** `isSeparate`: its slots share no caches. */
  load: () => Pick<SchedulerLoad, 'slots' | 'backgroundSlots' | 'busy' | 'queued'> & { readonly isSeparate: boolean }
  readonly order: LineOrder
  running: number
  /** Nobody answers: since when, how many lines have tried it, the last one, and until when none is sent. */
  away: { readonly sinceMs: number; readonly count: number; readonly by: string; readonly untilMs: number } | undefined
  claiming: Promise<void> | undefined
  /** How many lines were wanted at the last claim, and how many have ended since a time that is rarely longer ago than `aheadMs`. */
  claimed: { readonly atMs: number; readonly wanted: number; ended: number }
  /** The batches of which the store had fewer lines at the last claim than were wanted. */
  readonly emptied: Set<string>
}

/**
 * The lines that end in `aheadMs` at the pace since `claimed.atMs`; at least four for each slot, and as many as a moment ago, since the pace of
 * a shorter time is chance.
 */
export function linesAhead({ ended, atMs, wanted }: ModelWork['claimed'], nowMs: number, slots: number): number {
  const elapsedMs = nowMs - atMs
  const atThisPace = Math.round((ended / Math.max(shortestMs, elapsedMs)) * aheadMs)
  return Math.max(slots * 4, elapsedMs < aheadMs ? wanted : 0, Math.min(mostAhead, atThisPace))
}

/** The claim of lines of which `wanted` are ahead then. */
export function noteClaim(work: ModelWork, wanted: number, nowMs: number): void {
  const { atMs, ended } = work.claimed
  work.claimed = nowMs - atMs < aheadMs ? { atMs, wanted, ended } : { atMs: nowMs, wanted, ended: 0 }
}

/** Whether it is time for a claim: early enough that there are lines with each beginning until the next ones are here. */
export function needsLines({ order, claimed }: ModelWork, slots: number): boolean {
  return order.waiting < Math.max(slots * 3, claimed.wanted / 2)
}
