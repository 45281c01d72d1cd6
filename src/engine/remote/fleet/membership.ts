import { Waiters } from '../../../base/waiters.ts'
import { AppError } from '../../../contract/errors.ts'
import { compareSets, type SetChange } from '../endpoints/endpoint-set.ts'
import type { EndpointSource, FoundEndpoint } from '../endpoints/source.ts'
import type { Endpoint } from '../transport/client.ts'

/** A change of the set of servers. */
export type MemberChange = SetChange<Endpoint>

type MembershipOptions = {
  readonly source: EndpointSource
  /** How long the requests of a server that has left may take to end there. */
  readonly drainMs: number
  /** How long a request waits while there are no servers. */
  readonly holdMs: number
  onChange(change: MemberChange): void
  /** Its time has run out: it is not used any more, and neither is another server of its origin. */
  onDrained(endpoint: Endpoint): void
}

const retryAfterMs = 5000

/** Which servers a model has now, and what happens while it has none. */
export class Membership {
  readonly #options: MembershipOptions
  readonly #members = new Map<string, Endpoint>()
  #spareIds: ReadonlySet<string> = new Set()
  readonly #draining = new Map<string, NodeJS.Timeout>()
  /** Those that wait for the first set. */
  readonly #curious = new Waiters()
  /** Those that wait for a server. */
  readonly #held = new Waiters()
  #following: { stop(): void } | undefined
  #hasSet = false
  #isHolding = false

  constructor(options: MembershipOptions) {
    this.#options = options
  }

  get endpoints(): ReadonlyMap<string, Endpoint> {
    return this.#members
  }

  /** Those that are used only while no other may be. */
  get spareIds(): ReadonlySet<string> {
    return this.#spareIds
  }

  /** There is no server, or there was none, and none of those that came since has been reached. */
  get isHolding(): boolean {
    return this.#isHolding
  }

  /** Begins to follow the source. Idempotent. Undefined where the set is known, else a promise that rejects when it cannot be found out. */
  start(signal: AbortSignal): Promise<void> | undefined {
    this.#following ??= this.#options.source.follow({
      onSet: (found) => this.#apply(found),
      onFailure: (reason) => {
        const error = new AppError('model-unavailable', `the servers of this model are not known: ${reason}`, { retryAfterMs })
        if (!this.#hasSet) this.#curious.fail(error)
      },
    })
    return this.#hasSet ? undefined : this.#curious.wait(signal)
  }

  /** Waits for the first server, for `holdMs` at most. Undefined where there is one. */
  held(signal: AbortSignal): Promise<void> | undefined {
    if (!this.#isHolding) return undefined
    signal.throwIfAborted()
    const { holdMs } = this.#options
    const ended = new AbortController()
    const onAbort = () => ended.abort(signal.reason)
    const timer = setTimeout(() => ended.abort(new AppError('model-unavailable', noServer(holdMs), { retryAfterMs })), holdMs)
    signal.addEventListener('abort', onAbort, { once: true })
    return this.#held.wait(ended.signal).finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    })
  }

  /** A server has been reached: nothing is held any more. */
  onReached(): void {
    this.#isHolding = false
    this.#held.release()
  }

  /** Ends for good; `error` is what all who wait get. */
  stop(error: AppError): void {
    this.#following?.stop()
    for (const timer of this.#draining.values()) clearTimeout(timer)
    this.#draining.clear()
    this.#curious.fail(error)
    this.#held.fail(error)
  }

  #apply(found: readonly FoundEndpoint[]): void {
    const change = compareSets(
      this.#members,
      found.map((endpoint) => ({ id: endpoint.url, ...endpoint })),
    )
    const { added, changed, replaced, gone } = change
    for (const endpoint of gone) {
      this.#members.delete(endpoint.id)
      this.#drain(endpoint)
    }
    for (const endpoint of [...added, ...changed, ...replaced]) {
      this.#members.set(endpoint.id, endpoint)
      clearTimeout(this.#draining.get(endpoint.id))
      this.#draining.delete(endpoint.id)
    }
    this.#spareIds = new Set([...this.#members.values()].flatMap(({ id, isSpare }) => (isSpare === true ? [id] : [])))
    if (this.#members.size === 0) this.#isHolding = true
    const isFirst = !this.#hasSet
    this.#hasSet = true
    if (isFirst || added.length + changed.length + replaced.length + gone.length > 0) this.#options.onChange(change)
    this.#curious.release()
  }

  #drain(endpoint: Endpoint): void {
    const { origin } = new URL(endpoint.url)
    const end = () => {
      this.#draining.delete(endpoint.id)
      for (const { url } of this.#members.values()) if (new URL(url).origin === origin) return
      this.#options.onDrained(endpoint)
    }
    this.#draining.set(endpoint.id, setTimeout(end, this.#options.drainMs).unref())
  }
}

function noServer(holdMs: number): string {
  return `the model has no server now, and none has come in ${holdMs} ms; try again later`
}
