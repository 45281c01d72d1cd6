import { type Batch, type BatchCounts, type BatchFault, type BatchState, endedStates } from '../contract/server/batches.ts'

export function hasEnded({ state }: Batch): boolean {
  return endedStates.includes(state)
}

/** Lines that wait or run. */
export function openLines({ total, succeeded, errored, cancelled, expired }: BatchCounts): number {
  return total - succeeded - errored - cancelled - expired
}

/** The batch with its lines read. */
export function begun(batch: Batch, total: number, nowMs: number): Batch {
  const { leaseUntilMs: _, ...rest } = batch
  const counts = { ...batch.counts, total }
  const times = { ...batch.times, runningMs: nowMs }
  return { ...rest, counts, times, state: batch.state === 'validating' ? 'running' : batch.state }
}

/** A batch with an input that cannot be run. */
export function failed(batch: Batch, faults: readonly BatchFault[], nowMs: number): Batch {
  const { leaseUntilMs: _, ...rest } = batch
  return { ...rest, state: 'failed', faults, times: { ...batch.times, endedMs: nowMs } }
}

/** Asked to end: undefined if it has ended, or ends already. */
export function cancelling(batch: Batch, nowMs: number): Batch | undefined {
  if (hasEnded(batch) || batch.state === 'cancelling' || batch.state === 'finalizing') return undefined
  return { ...batch, state: 'cancelling', times: { ...batch.times, cancellingMs: nowMs } }
}

/** The state that a batch without open lines comes to. */
export function finalState({ times, counts }: Batch): BatchState {
  if (times.cancellingMs !== undefined) return 'cancelled'
  return counts.expired > 0 ? 'expired' : 'completed'
}
