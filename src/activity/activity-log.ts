import { ChurnMap } from '../base/churn.ts'
import { Ring } from '../base/ring.ts'
import type { ActivityCursor, ActivityQuestion, ProcessPage, RequestSnapshot } from '../contract/server/activity.ts'
import type { ArrivedCall, WatchedRequest } from '../contract/watch.ts'
import type { LoadReading } from './load-history.ts'
import { type RecordDeps, RequestRecord } from './request-record.ts'

/** How many requests that ended are kept: some MB. */
const mostEnded = 10_000

type ActivityOptions = {
  readonly epoch: () => number
  /** Unique among the processes of this server, including later ones. */
  readonly run: string
  readonly mostEnded?: number
  /** Called with the tokens that work other than generating, such as embedding, has read for a caller. */
  readonly onRead?: RecordDeps['onRead']
}

/** A request that ended, and how many of its owner's ended before it. */
type Ended = { readonly request: RequestSnapshot; readonly nth: number }

/** The requests of this process, for those who watch it. Without readers, a request costs one object and a count for each token. */
export class ActivityLog {
  readonly run: string
  readonly #running = new ChurnMap<string, RequestRecord>()
  readonly #ended: Ring<Ended>
  /** The number of ended requests by owner: as many entries as there are keys. */
  readonly #endedOf = new Map<string, number>()
  readonly #deps: RecordDeps
  readonly #tokens = { input: 0, output: 0 }
  #changes = 0
  #failed = 0
  /** The number up to which the times of requests were read. */
  #timed = 0

  constructor({ epoch, run, mostEnded: size = mostEnded, onRead = () => undefined }: ActivityOptions) {
    this.run = run
    this.#ended = new Ring(size)
    this.#deps = {
      epoch,
      tokens: this.#tokens,
      nextChange: () => {
        this.#changes += 1
        return this.#changes
      },
      onEnd: (record) => this.#end(record),
      onRead,
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

  read({ place, recent, owner, limit }: ActivityQuestion): ProcessPage {
    const from = place === undefined ? this.#begin(recent, owner) : (place[this.run] ?? start)
    const isVisible = (request: { readonly owner: string }) => owner === undefined || request.owner === owner
    const requests: RequestSnapshot[] = []
    let { seen } = from
    let missed = 0
    const skipTo = (nth: number) => {
      missed += Math.max(0, nth - seen)
      seen = nth
    }
    let next = Math.max(from.ended, this.#ended.first)
    for (; next < this.#ended.count && requests.length < limit; next++) {
      const ended = this.#ended.at(next)
      if (ended === undefined || !isVisible(ended.request)) continue
      skipTo(owner === undefined ? next : ended.nth)
      requests.push(ended.request)
      seen += 1
    }
    const { run } = this
    // Running requests follow ended ones, so that the last message about a request is its last state.
    if (next < this.#ended.count) {
      return { run, requests, cursor: { ended: next, seen, changes: from.changes }, missed, hasMore: true }
    }
    skipTo(this.#countOf(owner))
    for (const record of this.#running.values()) {
      record.refresh()
      if (record.isShown && record.change > from.changes && isVisible(record.call)) requests.push(record.snapshot())
    }
    return { run, requests, cursor: { ended: next, seen, changes: this.#changes }, missed, hasMore: false }
  }

  /** The last ones that this reader may see come first. */
  #begin(recent: number, owner: string | undefined): ActivityCursor {
    const { count, first } = this.#ended
    if (owner === undefined) return { ended: Math.max(first, count - recent), seen: Math.max(first, count - recent), changes: 0 }
    let [ended, seen] = [count, this.#countOf(owner)]
    for (let number = count - 1, left = recent; number >= first && left > 0; number--) {
      const found = this.#ended.at(number)
      if (found?.request.owner !== owner) continue
      ended = number
      seen = found.nth
      left -= 1
    }
    return { ended, seen, changes: 0 }
  }

  #countOf(owner: string | undefined): number {
    return owner === undefined ? this.#ended.count : (this.#endedOf.get(owner) ?? 0)
  }

  find(id: string, owner: string | undefined): RequestSnapshot | undefined {
    const running = this.#running.get(id)
    const isMeant = (request: RequestSnapshot) => request.id === id && (owner === undefined || request.owner === owner)
    if (running?.isShown === true) {
      const snapshot = running.snapshot()
      if (isMeant(snapshot)) return snapshot
    }
    for (let number = this.#ended.count - 1; number >= this.#ended.first; number--) {
      const ended = this.#ended.at(number)
      if (ended !== undefined && isMeant(ended.request)) return ended.request
    }
    return undefined
  }

  /** The totals so far and the present load; the times are those since the last call. */
  reading(): Omit<LoadReading, 'modelBytes' | 'processBytes'> {
    const shown = [...this.#running.values()].filter(({ isShown }) => isShown)
    const waiting = shown.filter(({ isWaiting }) => isWaiting).length
    const firstTokenMs: number[] = []
    for (let number = Math.max(this.#timed, this.#ended.first); number < this.#ended.count; number++) {
      const ms = this.#ended.at(number)?.request.timings?.firstTokenMs
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
    const nth = this.#countOf(request.owner)
    this.#endedOf.set(request.owner, nth + 1)
    this.#ended.push({ request, nth })
  }
}

const start: ActivityCursor = { ended: 0, seen: 0, changes: 0 }

/** Why a request was cancelled, for display. */
export function stopOf({ reason, by, limit }: NonNullable<RequestSnapshot['stopped']>): NonNullable<RequestSnapshot['stopped']> {
  return { reason, ...(by !== undefined && { by }), ...(limit !== undefined && { limit }) }
}
