import { ChurnMap } from '../base/churn.ts'
import { Ring } from '../base/ring.ts'
import type { Activity, ActivityCursor, ActivityPage, ActivityViewer, RequestSnapshot } from '../contract/activity.ts'
import type { ArrivedCall, WatchedRequest } from '../contract/watch.ts'
import type { LoadReading } from './load-history.ts'
import { type RecordDeps, RequestRecord } from './request-record.ts'

/** How many requests that ended are kept: some MB. */
const mostEnded = 10_000

type ActivityOptions = { readonly epoch: () => number; readonly mostEnded?: number }

/** The requests of this process, for those who watch it. Without readers, a request costs one object and a count for each token. */
export class ActivityLog implements Activity {
  readonly startedAtMs: number
  readonly #running = new ChurnMap<string, RequestRecord>()
  readonly #ended: Ring<RequestSnapshot>
  readonly #deps: RecordDeps
  readonly #tokens = { input: 0, output: 0 }
  #changes = 0
  #failed = 0
  /** Up to where the times of requests were read. */
  #timed = 0

  constructor({ epoch, mostEnded: size = mostEnded }: ActivityOptions) {
    this.startedAtMs = epoch()
    this.#ended = new Ring(size)
    this.#deps = {
      epoch,
      tokens: this.#tokens,
      nextChange: () => {
        this.#changes += 1
        return this.#changes
      },
      onEnd: (record) => this.#end(record),
    }
  }

  open(call: ArrivedCall): WatchedRequest {
    const record = new RequestRecord(call, this.#deps)
    this.#running.set(call.id, record)
    return record
  }

  /** The request was cancelled. */
  stopped(id: string, stopped: NonNullable<RequestSnapshot['stopped']>): void {
    const record = this.#running.get(id)
    if (record !== undefined) record.stopped = stopped
  }

  /** The work for the request has ended. */
  closed(id: string): void {
    this.#running.get(id)?.close()
  }

  begin(count: number): ActivityCursor {
    return { ended: Math.max(this.#ended.first, this.#ended.count - count), changes: 0 }
  }

  read(cursor: ActivityCursor, { owner }: ActivityViewer, limit: number): ActivityPage {
    const first = Math.max(cursor.ended, this.#ended.first)
    const isVisible = (request: { readonly owner: string }) => owner === undefined || request.owner === owner
    const requests: RequestSnapshot[] = []
    let next = first
    for (; next < this.#ended.count && requests.length < limit; next++) {
      const request = this.#ended.at(next)
      if (request !== undefined && isVisible(request)) requests.push(request)
    }
    const missed = first - cursor.ended
    // What runs follows what ended, so that the last state of a request is its last message.
    if (next < this.#ended.count) {
      return { requests, cursor: { ended: next, changes: cursor.changes }, missed, hasMore: true }
    }
    for (const record of this.#running.values()) {
      record.refresh()
      if (record.isShown && record.change > cursor.changes && isVisible(record.call)) requests.push(record.snapshot())
    }
    return { requests, cursor: { ended: next, changes: this.#changes }, missed, hasMore: false }
  }

  find(id: string, { owner }: ActivityViewer): RequestSnapshot | undefined {
    const running = this.#running.get(id)
    const isMeant = (request: RequestSnapshot) => request.id === id && (owner === undefined || request.owner === owner)
    if (running?.isShown === true) {
      const snapshot = running.snapshot()
      if (isMeant(snapshot)) return snapshot
    }
    for (let number = this.#ended.count - 1; number >= this.#ended.first; number--) {
      const request = this.#ended.at(number)
      if (request !== undefined && isMeant(request)) return request
    }
    return undefined
  }

  /** What has happened so far, and what happens now; the times are those since the last call. */
  reading(): Omit<LoadReading, 'modelBytes' | 'processBytes'> {
    const shown = [...this.#running.values()].filter(({ isShown }) => isShown)
    const waiting = shown.filter(({ isWaiting }) => isWaiting).length
    const firstTokenMs: number[] = []
    for (let number = Math.max(this.#timed, this.#ended.first); number < this.#ended.count; number++) {
      const ms = this.#ended.at(number)?.timings?.firstTokenMs
      if (ms !== undefined) firstTokenMs.push(ms)
    }
    this.#timed = this.#ended.count
    return {
      inputTokens: this.#tokens.input,
      outputTokens: this.#tokens.output,
      ended: this.#ended.count,
      failed: this.#failed,
      running: shown.length - waiting,
      waiting,
      firstTokenMs,
    }
  }

  #end(record: RequestRecord): void {
    if (this.#running.get(record.call.id) !== record) return
    this.#running.delete(record.call.id)
    if (!record.isShown) return
    const request = record.snapshot()
    if (request.state.type === 'failed') this.#failed += 1
    this.#ended.push(request)
  }
}

/** Why a request was cancelled, as it is shown. */
export function stopOf({ reason, by, limit }: NonNullable<RequestSnapshot['stopped']>): NonNullable<RequestSnapshot['stopped']> {
  return { reason, ...(by !== undefined && { by }), ...(limit !== undefined && { limit }) }
}
