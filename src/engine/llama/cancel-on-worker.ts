import { afterAwake } from '../../base/time/awake.ts'
import type { Supervisor } from './supervisor.ts'

/** Encoding a large picture, which nothing interrupts, takes minutes on a slow processor. */
const longestStopMs = 600_000

/** Cancels a request on the worker, which counts as hung unless the returned function is called within ten minutes: the request has ended. */
export function cancelOnWorker(supervisor: Pick<Supervisor, 'steer' | 'abandon'>, id: string): () => void {
  supervisor.steer({ type: 'cancel', id })
  const onHung = () => supervisor.abandon(`it did not stop a cancelled request within ${longestStopMs / 1000} seconds`)
  return afterAwake(longestStopMs, onHung)
}
