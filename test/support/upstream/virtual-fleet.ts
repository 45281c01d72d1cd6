import { setImmediate as turn } from 'node:timers/promises'
import { AppError } from '../../../src/contract/errors.ts'
import { type ReplicaTask, type RetryDeps, tryReplicas } from '../../../src/engine/remote/fleet/attempts/try-replicas.ts'
import { type EndpointReport, Pool } from '../../../src/engine/remote/fleet/pool.ts'
import type { RetryBudget } from '../../../src/engine/remote/fleet/retry/retry-budget.ts'
import type { profileNames } from '../../../src/engine/remote/servers/profile.ts'
import { profiles } from '../../../src/engine/remote/servers/profiles.ts'

/** Time that passes only when everything waits for it. */
export class VirtualTime {
  nowMs = 0
  readonly #timers: { readonly atMs: number; wake(): void }[] = []

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => void this.#timers.push({ atMs: this.nowMs + ms, wake }))
  }

  async runTo(endMs: number): Promise<void> {
    while (true) {
      await turn()
      const nextMs = Math.min(...this.#timers.map(({ atMs }) => atMs))
      if (nextMs > endMs) return
      this.nowMs = Math.max(this.nowMs, nextMs)
      const due = this.#timers.findIndex(({ atMs }) => atMs === nextMs)
      for (const { wake } of this.#timers.splice(due, 1)) wake()
    }
  }
}

type Options = { readonly areRouters?: true; readonly budget?: RetryBudget }

/** Replicas of one kind that are healthy, in virtual time; `fleet.send` is one request. */
export function virtualFleet(kind: (typeof profileNames)[number], count: number, { areRouters, budget }: Options = {}) {
  const time = new VirtualTime()
  const endpoints = Array.from({ length: count }, (_, index) => ({
    id: `r${index}`,
    url: 'http://r/v1',
    apiKey: 'k',
    weight: 1,
    ...(areRouters && { isRouter: true as const }),
  }))
  const pool = new Pool(endpoints, { breaker: { random: () => 0.9 } })
  const reports = (): readonly EndpointReport[] => pool.describe(time.nowMs)
  const upstream = { profile: profiles[kind], model: 'm' }
  const replicas: RetryDeps['replicas'] = {
    count,
    acquire: async (wanted, waitMs) => {
      const untilMs = time.nowMs + waitMs
      while (true) {
        const lease = pool.acquire({ nowMs: time.nowMs, ...wanted })
        if (lease.type === 'lease') {
          const { endpoint, confirm, learn, cachedTokens, leave, release, blame } = lease
          return {
            endpoint,
            upstream,
            confirm,
            learn,
            cachedTokens,
            leave: () => leave(time.nowMs),
            reportLoad: (load) => pool.reportLoad(endpoint.id, load, time.nowMs),
            release: (outcome) => release(outcome, time.nowMs),
            blame: () => blame(time.nowMs),
          }
        }
        if (lease.retryAtMs > untilMs) throw new AppError('model-unavailable', 'no server can be used')
        await time.sleep(Math.min(250, Math.max(10, lease.retryAtMs - time.nowMs)))
      }
    },
    hasKnown: (except) => endpoints.some(({ id }) => !except.has(id)),
    isUsable: (id) => pool.isUsable(id, time.nowMs),
    hasUsable: (...except) => pool.hasUsable(time.nowMs, ...except),
    pause: (ms) => time.sleep(ms),
    throwIfClosed: () => undefined,
  }
  const deps: RetryDeps = { replicas, now: () => time.nowMs, random: () => 0.9, ...(budget !== undefined && { budget }) }
  const signal = new AbortController().signal
  const check = async () => {
    while (true) {
      for (const { id } of pool.checksDue(time.nowMs)) pool.reportCheck(id, true, time.nowMs)
      await time.sleep(1000)
    }
  }
  void check()
  const send = (
    attempt: (id: string, confirm: () => void) => Promise<void>,
    progress: ReplicaTask<string>['progress'],
    client = 'somebody',
  ) =>
    tryReplicas(deps, {
      client: () => client,
      tokens: 100,
      affinityKeys: [],
      isAuxiliary: false,
      signal,
      progress,
      attempt: async ({ endpoint, confirm }) => {
        await attempt(endpoint.id, confirm)
        return { type: 'answered', value: 'ok' }
      },
    })
  return { time, reports, send }
}
