import { IndexedHeap } from './indexed-heap.ts'
import type { Member, PoolEndpoint } from './member.ts'

type CheckIntervals = {
  readonly checkIntervalMs: number
  readonly downCheckIntervalMs: number
  /** From 0 to below 1. */
  random(): number
}

/** However many replicas there are, their checks together take little time: 25 a second. */
const leastMsPerReplica = 40
/** More than the jitter of checks every ten seconds, and the time that news of other processes take. */
const othersFirstMs = 4000

/** When each endpoint is to be checked next: finding those that are due costs nothing for the others. */
export class CheckTimes<Endpoint extends PoolEndpoint> {
  readonly #intervals: CheckIntervals
  #size = 0
  readonly #waiting = new IndexedHeap<Member<Endpoint>>((a, b) => a.checkAtMs < b.checkAtMs)

  constructor(intervals: CheckIntervals) {
    this.#intervals = intervals
  }

  /** The number of endpoints there are from now on. */
  set size(size: number) {
    this.#size = size
  }

  /** To be called after everything that happened to the endpoint. */
  update(member: Member<Endpoint>, nowMs: number): void {
    if (member.isRemoved || member.isChecking) {
      this.#waiting.remove(member)
      return
    }
    member.checkAtMs = this.#dueAtMs(member, nowMs)
    this.#waiting.put(member)
  }

  /** Those that are due, which are being checked from here on. */
  take(nowMs: number): readonly Member<Endpoint>[] {
    const due: Member<Endpoint>[] = []
    for (let next = this.#waiting.first; next !== undefined && next.checkAtMs <= nowMs; next = this.#waiting.first) {
      this.#waiting.remove(next)
      // More may have come since it was added.
      if (isNew(next) && this.#dueAtMs(next, nowMs) > nowMs) {
        this.update(next, nowMs)
        continue
      }
      next.isChecking = true
      due.push(next)
    }
    return due
  }

  #dueAtMs(member: Member<Endpoint>, nowMs: number): number {
    const { breaker, addedMs, phase, lastSuccessMs, lastCheckMs, heardMs } = member
    const { checkIntervalMs, downCheckIntervalMs, random } = this.#intervals
    // Down, it is checked more often: a good check spares a client the failed trial.
    if (breaker.state(nowMs) !== 'closed' || lastCheckMs > lastSuccessMs) return lastCheckMs + downCheckIntervalMs
    const intervalMs = Math.max(checkIntervalMs, this.#size * leastMsPerReplica)
    // Those that came together are checked apart.
    if (isNew(member)) return addedMs + intervalMs * phase
    return Math.max(lastSuccessMs, lastCheckMs, heardMs + othersFirstMs) + intervalMs * (0.9 + random() / 5)
  }
}

/** It has had neither a check nor a success, here or in another process. */
function isNew({ addedMs, lastSuccessMs, lastCheckMs, heardMs }: Member): boolean {
  return Math.max(lastSuccessMs, lastCheckMs, heardMs) < addedMs
}
