import type { RequestedCancel } from '../../contract/context.ts'
import { cancelElsewhere } from '../../core/cancel/cancels-elsewhere.ts'
import type { Watching } from './deps.ts'

/** Cancels here, and in the other processes that are known. Returns how many were cancelled. */
export async function cancelEverywhere({ cancellations, everyone }: Watching, cancel: RequestedCancel): Promise<number> {
  const cancelled = cancellations.cancelRequested(cancel)
  const { cancelId, sessionId, replyIds } = cancel
  if (cancelId === undefined && sessionId === undefined && replyIds.length === 0) return cancelled
  return cancelled + (await cancelElsewhere(everyone, cancel))
}
