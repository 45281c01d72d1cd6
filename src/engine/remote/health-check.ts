import { messageOf } from '../../core/errors.ts'
import type { Pool, PoolEndpoint } from './pool.ts'

export type HealthCheckOptions<Endpoint extends PoolEndpoint> = {
  readonly pool: Pick<Pool<Endpoint>, 'checksDue' | 'reportCheck'>
  /** Resolves when the endpoint is well, rejects when it is not. The signal fires when the check is over. */
  check(endpoint: Endpoint, signal: AbortSignal): Promise<void>
  /** Same clock as the pool's. */
  now(): number
  /** Resolves after that time, or at once when the signal fires. */
  wait(ms: number, signal: AbortSignal): Promise<void>
  /** Told of each check that failed. */
  onFailure?(endpoint: Endpoint, reason: string): void
  readonly tickMs?: number
  readonly timeoutMs?: number
}

/** Runs the checks that the pool says are due, side by side, until `stop`; it resolves when none is under way. */
export function startHealthChecks<Endpoint extends PoolEndpoint>(
  options: HealthCheckOptions<Endpoint>,
): { stop(): Promise<void> } {
  const { pool, now, wait, tickMs = 1000 } = options
  const stopped = new AbortController()
  const running = new Map<AbortController, Promise<void>>()
  const loop = async () => {
    while (!stopped.signal.aborted) {
      for (const endpoint of pool.checksDue(now())) {
        // Not `AbortSignal.any`: what it makes of a signal that lives for long is kept by some versions of Node.
        const over = new AbortController()
        running.set(
          over,
          runCheck(options, { endpoint, over, stopped: stopped.signal }).finally(() => running.delete(over)),
        )
      }
      await wait(tickMs, stopped.signal)
    }
    await Promise.all(running.values())
  }
  const done = loop()
  return {
    stop: () => {
      stopped.abort()
      for (const over of running.keys()) over.abort()
      return done
    },
  }
}

type Check<Endpoint> = { readonly endpoint: Endpoint; readonly over: AbortController; readonly stopped: AbortSignal }

async function runCheck<Endpoint extends PoolEndpoint>(
  { pool, check, now, wait, onFailure, timeoutMs = 5000 }: HealthCheckOptions<Endpoint>,
  { endpoint, over, stopped }: Check<Endpoint>,
): Promise<void> {
  const timer = wait(timeoutMs, over.signal).then(() => {
    if (!over.signal.aborted) throw new Error(`no answer in ${timeoutMs} ms`)
  })
  let reason: string | undefined
  try {
    // A check that does not heed its signal holds up neither the next one nor the stop.
    await Promise.race([timer, check(endpoint, over.signal)])
  } catch (error) {
    reason = messageOf(error)
  } finally {
    over.abort()
  }
  // What the stop cut short says nothing.
  if (stopped.aborted) return
  pool.reportCheck(endpoint.id, reason === undefined, now())
  if (reason !== undefined) onFailure?.(endpoint, reason)
}
