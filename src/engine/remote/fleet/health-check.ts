import { Queue } from '../../../base/queue.ts'
import { orAborted } from '../../../base/time-limit.ts'
import type { Pool, PoolEndpoint } from './pool.ts'

type HealthCheckOptions<Endpoint extends PoolEndpoint> = {
  readonly pool: Pick<Pool<Endpoint>, 'checksDue' | 'reportCheck'>
  /** Rejects if the endpoint is unhealthy. The signal fires on time-out, failure or `stop`. */
  check(endpoint: Endpoint, signal: AbortSignal): Promise<void>
  /** The pool's clock. */
  now(): number
  /** Calls back after that time. Returns a function that cancels it. */
  after(ms: number, fire: () => void): () => void
  readonly tickMs?: number
  readonly timeoutMs?: number
}

/** Together with the probes of new replicas, 50 at a time. */
const checksAtATime = 25

/** Runs the checks that the pool reports as due, in parallel, until `stop`, which resolves when no check is running. */
export function startHealthChecks<Endpoint extends PoolEndpoint>(
  options: HealthCheckOptions<Endpoint>,
): { stop(): Promise<void> } {
  const { pool, now, after, tickMs = 1000 } = options
  const stopped = new AbortController()
  const running = new Map<AbortController, Promise<void>>()
  const queue = new Queue(checksAtATime)
  let cancelTick: () => void
  const tick = () => {
    for (const endpoint of pool.checksDue(now())) {
      // Not `AbortSignal.any` with `stopped`, which is long-lived: Node keeps each dependent signal, 1 KB for each check (measured).
      const ended = new AbortController()
      running.set(
        ended,
        // The time limit begins when the check starts, not when it is queued: other checks that hang say nothing about this one.
        queue
          .run(ended.signal, () => runCheck(options, { endpoint, ended, stopped: stopped.signal }))
          // Stopped while queued.
          .catch(() => undefined)
          .finally(() => running.delete(ended)),
      )
    }
    cancelTick = after(tickMs, tick)
  }
  tick()
  return {
    stop: async () => {
      stopped.abort()
      cancelTick()
      for (const ended of running.keys()) ended.abort()
      await Promise.all(running.values())
    },
  }
}

type RunOptions<Endpoint extends PoolEndpoint> = Omit<HealthCheckOptions<Endpoint>, 'pool' | 'tickMs'> & {
  readonly pool: Pick<Pool<Endpoint>, 'reportCheck'>
}

type Check<Endpoint> = { readonly endpoint: Endpoint; readonly ended: AbortController; readonly stopped: AbortSignal }

/** One check. It is reported unless `stopped` fires before its end. */
export async function runCheck<Endpoint extends PoolEndpoint>(
  { pool, check, now, after, timeoutMs = 5000 }: RunOptions<Endpoint>,
  { endpoint, ended, stopped }: Check<Endpoint>,
): Promise<void> {
  const cancelLimit = after(timeoutMs, () => ended.abort())
  let isOk = true
  try {
    // A check that ignores its signal delays neither the next check nor `stop`.
    await orAborted(check(endpoint, ended.signal), ended.signal)
  } catch {
    // The reason is not reported.
    isOk = false
    ended.abort()
  } finally {
    // The signal of a good check does not fire: its reply may still be draining, and its connection is used again.
    cancelLimit()
  }
  // A check that `stop` interrupted says nothing.
  if (stopped.aborted) return
  pool.reportCheck(endpoint.id, isOk, now())
}
