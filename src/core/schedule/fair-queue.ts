import { ChurnMap } from '../../base/churn.ts'
import type { RequestCost } from '../../contract/scheduler.ts'

/** A request that takes turns, from the time when it asks for a slot to the time when it has given it back. */
export type Contender = {
  readonly principal: string
  readonly session: string
  /** The queue's own data. Only the queue changes it. */
  share?: Share | undefined
}

type Share = { readonly flows: readonly [Flow, Flow, Flow]; readonly inputTokens: number; readonly expected: number }

/** A request's output is unknown when it is granted: the estimate is that of its caller, or this at first. */
const firstGuess = 512
/** The weight of the last request in the mean: an eighth. */
const memory = 8
/** How many idle callers or sessions keep their debt. */
const keptFlows = 1000

/** A caller, or a session of one. Its sessions, or at the bottom its requests, share what it gets. */
class Flow {
  /** The granted tokens, raised to the clock of the outer flow when it starts to wait. The lowest is next. */
  served = 0
  /** `served` of the inner flow that was granted last. */
  clock = 0
  /** When it started to wait, as a tie-breaker. */
  since = 0
  waiting = 0
  running = 0
  /** The mean of the tokens that its requests used beyond their known input. */
  typical: number | undefined = undefined
  readonly inner = new ChurnMap<string, Flow>()
  readonly items: Contender[] = []
}

/**
 * Chooses whose turn it is: waiting callers get equal numbers of tokens, and so do the sessions of a caller; the requests of a session keep
 * their order. Start-time fair queueing, with estimated costs that are corrected at the end.
 */
export class FairQueue<Item extends Contender> {
  readonly #root = new Flow()
  #typical = firstGuess
  #arrivals = 0

  get waiting(): number {
    return this.#root.waiting
  }

  /** A request begins to wait. */
  add(item: Item, { inputTokens = 0, maxOutputTokens = Number.POSITIVE_INFINITY }: RequestCost): void {
    const caller = innerFlow(this.#root, item.principal)
    const session = innerFlow(caller, item.session)
    const expected = inputTokens + Math.min(maxOutputTokens, caller.typical ?? this.#typical)
    item.share = { flows: [this.#root, caller, session], inputTokens, expected }
    this.#arrivals += 1
    let outer: Flow | undefined
    for (const flow of item.share.flows) {
      if (flow.waiting === 0) {
        flow.since = this.#arrivals
        // Idle callers do not save up credit.
        if (outer !== undefined) flow.served = Math.max(flow.served, outer.clock)
      }
      flow.waiting += 1
      outer = flow
    }
    session.items.push(item)
  }

  /** A request no longer waits. */
  remove(item: Item): void {
    const { share } = item
    if (share === undefined) return
    const { items } = share.flows[2]
    const index = items.indexOf(item)
    if (index === -1) return
    items.splice(index, 1)
    for (const flow of share.flows) flow.waiting -= 1
    this.#forget(item, share)
  }

  /** Takes the request whose turn it is; it counts as running until `end`. Undefined if none waits. */
  take(): Item | undefined {
    if (this.#root.waiting === 0) return undefined
    let flow = this.#root
    while (flow.inner.size > 0) {
      const next = firstOf(flow)
      flow.clock = Math.max(flow.clock, next.served)
      flow = next
    }
    const item = flow.items.shift() as Item
    const { flows, expected } = item.share as Share
    for (const one of flows) {
      one.waiting -= 1
      one.running += 1
      one.served += expected
    }
    return item
  }

  /** A request has given back its slot, after using this many tokens. */
  end(item: Item, usedTokens: number): void {
    const { share } = item
    if (share === undefined) return
    const { flows, inputTokens, expected } = share
    for (const flow of flows) {
      flow.running -= 1
      flow.served += usedTokens - expected
    }
    const beyond = Math.max(0, usedTokens - inputTokens)
    const [, caller] = flows
    this.#typical += (beyond - this.#typical) / memory
    caller.typical = caller.typical === undefined ? beyond : caller.typical + (beyond - caller.typical) / memory
    this.#forget(item, share)
  }

  /** How many waiting requests will be granted before this one, as far as that can be predicted. */
  countBefore(item: Item): number {
    const [root, caller, session] = (item.share as Share).flows
    const before = session.items.slice(0, session.items.indexOf(item))
    const own = { count: before.length, tokens: sum(before) }
    const inCaller = addSiblings(caller, session, own)
    return addSiblings(root, caller, inCaller).count
  }

  /** Forgets idle callers and sessions without debt. */
  #forget(item: Item, { flows: [root, caller, session] }: Share): void {
    // Not deleted: that would slow down the object and everything that reads it.
    item.share = undefined
    forgetIdle(caller, session, item.session)
    forgetIdle(root, caller, item.principal)
  }
}

function innerFlow(outer: Flow, name: string): Flow {
  const known = outer.inner.get(name)
  if (known !== undefined) return known
  const flow = new Flow()
  outer.inner.set(name, flow)
  return flow
}

function firstOf(outer: Flow): Flow {
  let first: Flow | undefined
  for (const flow of outer.inner.values()) {
    if (flow.waiting > 0 && (first === undefined || isBefore(flow, first))) first = flow
  }
  return first as Flow
}

function isBefore(one: Flow, other: Flow): boolean {
  return one.served < other.served || (one.served === other.served && one.since < other.since)
}

function isIdle({ waiting, running }: Flow): boolean {
  return waiting === 0 && running === 0
}

function forgetIdle(outer: Flow, flow: Flow, name: string): void {
  if (!isIdle(flow)) return
  if (isIdle(outer)) {
    // Without waiting callers, none is owed anything.
    outer.inner.clear()
    outer.clock = 0
    return
  }
  if (flow.served <= outer.clock) outer.inner.delete(name)
  if (outer.inner.size <= keptFlows + outer.waiting + outer.running) return
  for (const [key, inner] of outer.inner) if (isIdle(inner)) outer.inner.delete(key)
}

type Count = { readonly count: number; readonly tokens: number }

/** Counts what is granted to the other flows inside `outer` before a flow has got `before`. */
function addSiblings(outer: Flow, flow: Flow, before: Count): Count {
  let { count, tokens } = before
  const turn = flow.served + before.tokens
  for (const other of outer.inner.values()) {
    if (other === flow || other.waiting === 0) continue
    let at = other.served
    for (const { share } of inOrder(other)) {
      if (at > turn || (at === turn && other.since > flow.since)) break
      at += share?.expected ?? 0
      count += 1
    }
    tokens += at - other.served
  }
  return { count, tokens }
}

/** The waiting requests of a flow, in the order of their turns. */
function inOrder({ inner, items }: Flow): readonly Contender[] {
  const flows = [...inner.values()].filter(({ waiting }) => waiting > 0)
  if (flows.length <= 1) return flows[0]?.items ?? items
  const turns = flows.flatMap((flow) => {
    let at = flow.served
    return flow.items.map((item) => {
      const turn = { item, at, since: flow.since }
      at += item.share?.expected ?? 0
      return turn
    })
  })
  return turns.sort((one, other) => one.at - other.at || one.since - other.since).map(({ item }) => item)
}

function sum(items: readonly Contender[]): number {
  return items.reduce((total, { share }) => total + (share?.expected ?? 0), 0)
}
