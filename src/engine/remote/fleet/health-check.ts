import { linkedSignal } from '../../linked-signal.ts'
import type { Pool, PoolEndpoint } from './pool.ts'

export type HealthCheckOptions<Endpoint extends PoolEndpoint> = {
  readonly pool: Pick<Pool<Endpoint>, 'checksDue' | 'reportCheck'>
  /** Resolves when the endpoint is well, rejects when it is not. The signal fires when it took too long, failed, or is stopped. */
  check(endpoint: Endpoint, signal: AbortSignal): Promise<void>
  /** Same clock as the pool's. */
  now(): number
  /** Resolves after that time, or at once when the signal fires. */
  wait(ms: number, signal: AbortSignal): Promise<void>
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
  { pool, check, now, wait, timeoutMs = 5000 }: HealthCheckOptions<Endpoint>,
  { endpoint, over, stopped }: Check<Endpoint>,
): Promise<void> {
  const settled = linkedSignal(over.signal)
  const timer = wait(timeoutMs, settled.signal).then(() => {
    if (!settled.signal.aborted) throw new Error(`no answer in ${timeoutMs} ms`)
  })
  let isOk = true
  try {
    // A check that does not heed its signal holds up neither the next one nor the stop.
    await Promise.race([timer, check(endpoint, over.signal)])
  } catch {
    // The pool asks no more than whether.
    isOk = false
    over.abort()
  } finally {
    // Not the check's own signal: the end of its reply may still be to come, and its connection is used again.
    settled.unlink()
    settled.abort(undefined)
  }
  // What the stop cut short says nothing.
  if (stopped.aborted) return
  pool.reportCheck(endpoint.id, isOk, now())
}
