import type { SchedulerLoad } from '../contract/scheduler.ts'
import type { LineOrder } from './line-order.ts'

/** A process has the lines of about this time ahead: more would be kept from others, and fewer cost a query for a few lines. */
const aheadMs = 250
const mostAhead = 250

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
  /** The last claim: when it was made, how many lines were wanted then, and how many have ended since. */
  claimed: { readonly atMs: number; readonly wanted: number; ended: number }
  /** The batches of which the store had fewer lines at the last claim than were wanted. */
  readonly emptied: Set<string>
}

/** The lines that end in `aheadMs` at the pace since the last claim; at least four for each slot. */
export function linesAhead({ ended, atMs }: ModelWork['claimed'], nowMs: number, slots: number): number {
  const atThisPace = Math.round((ended / Math.max(1, nowMs - atMs)) * aheadMs)
  return Math.max(slots * 4, Math.min(mostAhead, atThisPace))
}
