import type { WatchedRequest } from './wire.ts'

/** As many as the server keeps. */
const mostRequests = 10_000

/** The requests by id, and in order, the newest first. */
export class RequestList {
  readonly #byId = new Map<string, WatchedRequest>()
  #sorted: readonly WatchedRequest[] = []

  get all(): readonly WatchedRequest[] {
    return this.#sorted
  }

  /** Adds new and changed requests, in any order. */
  take(requests: readonly WatchedRequest[]): void {
    for (const request of requests) {
      // A state that arrives late is older than the end.
      if (request.ended_at_ms === undefined && this.#byId.get(request.id)?.ended_at_ms !== undefined) continue
      this.#byId.set(request.id, request)
    }
    const sorted = [...this.#byId.values()].sort((a, b) => b.started_at_ms - a.started_at_ms)
    for (const { id } of sorted.splice(mostRequests)) this.#byId.delete(id)
    this.#sorted = sorted
  }

  /** A new stream sends all running requests: earlier ones that are missing have ended unseen. */
  forgetRunning(): void {
    for (const [id, request] of this.#byId) if (isRunning(request)) this.#byId.delete(id)
  }

  clear(): void {
    this.#byId.clear()
    this.#sorted = []
  }
}

/** Whether it is still running. */
export function isRunning({ state }: WatchedRequest): boolean {
  return state !== 'done' && state !== 'failed' && state !== 'cancelled'
}
