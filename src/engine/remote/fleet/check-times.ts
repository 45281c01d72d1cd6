import { IndexedHeap } from './indexed-heap.ts'
import type { Member, PoolEndpoint } from './member.ts'

type CheckIntervals = {
  readonly checkIntervalMs: number
  readonly downCheckIntervalMs: number
  /** From 0 to below 1. */
  random(): number
}

/** Limits the checks to 20 a second, however many replicas there are. */
const leastMsPerReplica = 50
/** Longer than the jitter of a 10-second interval plus the time that news from other processes take. */
const othersFirstMs = 4000

/** Schedules the checks of the endpoints. Finding those that are due costs nothing for the others. */
export class CheckTimes<Endpoint extends PoolEndpoint> {
  readonly #intervals: CheckIntervals
  #size = 0
  readonly #waiting = new IndexedHeap<Member<Endpoint>>((a, b) => a.checkAtMs < b.checkAtMs)

  constructor(intervals: CheckIntervals) {
    this.#intervals = intervals
  }

  set size(size: number) {
    this.#size = size
  }

  /** To be called after every event of the endpoint. */
  update(member: Member<Endpoint>, nowMs: number): void {
    if (member.isRemoved || member.isChecking) {
      this.#waiting.remove(member)
      return
    }
    member.checkAtMs = this.#dueAtMs(member, nowMs)
    this.#waiting.put(member)
  }

  /** Takes those that are due; their checks begin now. */
  take(nowMs: number): readonly Member<Endpoint>[] {
    const due: Member<Endpoint>[] = []
    for (let next = this.#waiting.first; next !== undefined && next.checkAtMs <= nowMs; next = this.#waiting.first) {
      this.#waiting.remove(next)
      // More endpoints may have come since it was added.
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
    // An endpoint that is down is checked more often: a good check saves a client the failed trial.
    if (breaker.state(nowMs) !== 'closed' || lastCheckMs > lastSuccessMs) return lastCheckMs + downCheckIntervalMs
    const intervalMs = Math.max(checkIntervalMs, this.#size * leastMsPerReplica)
    // Spreads the checks of endpoints that came together.
    if (isNew(member)) return addedMs + intervalMs * phase
    return Math.max(lastSuccessMs, lastCheckMs, heardMs + othersFirstMs) + intervalMs * (0.9 + random() / 5)
  }
}

/** Whether it has had neither a check nor a success, here or in another process. */
function isNew({ addedMs, lastSuccessMs, lastCheckMs, heardMs }: Member): boolean {
  return Math.max(lastSuccessMs, lastCheckMs, heardMs) < addedMs
}
