import { Waiters } from '../../../base/waiters.ts'
import { AppError } from '../../../contract/errors.ts'
import { compareSets, type SetChange } from '../endpoints/endpoint-set.ts'
import type { EndpointSource, FoundEndpoint } from '../endpoints/source.ts'
import type { Endpoint } from '../transport/client.ts'

export type MemberChange = SetChange<Endpoint>

type MembershipOptions = {
  readonly source: EndpointSource
  /** How long the requests of a removed server may continue there. */
  readonly drainMs: number
  /** How long a request waits for a server while there are none. */
  readonly holdMs: number
  onChange(change: MemberChange): void
  /** Its drain time is over: neither it nor another server of its origin is used any more. */
  onDrained(endpoint: Endpoint): void
}

const retryAfterMs = 5000

/** The current servers of a model, and the requests that wait for one. */
export class Membership {
  readonly #options: MembershipOptions
  readonly #members = new Map<string, Endpoint>()
  #spareIds: ReadonlySet<string> = new Set()
  readonly #draining = new Map<string, NodeJS.Timeout>()
  /** Waiters for the first set. */
  readonly #curious = new Waiters()
  /** Waiters for a server. */
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

  /** Servers that are used only if no other may be. */
  get spareIds(): ReadonlySet<string> {
    return this.#spareIds
  }

  /** There are no servers, or all of those that came since there were none are still unreached. */
  get isHolding(): boolean {
    return this.#isHolding
  }

  /**
   * Begins to follow the source. Idempotent. Undefined if the set is known, else a promise that rejects if the set cannot be determined.
   */
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

  /** Waits up to `holdMs` for the first server. Undefined if there is one. */
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

  /** To be called when a server was reached: ends all waiting. */
  onReached(): void {
    this.#isHolding = false
    this.#held.release()
  }

  /** Ends for good. All waiters get `error`. */
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
  return `the model has no server now, and none appeared within ${holdMs} ms; try again later`
}
