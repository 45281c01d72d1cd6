import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../test/support/random.ts'
import { Decisions, type Effect } from './decisions.ts'
import { Entry } from './entry.ts'

/** A caller in a closed loop: it always has so many requests waiting or running, and pauses between an answer and the next request. */
type Caller = {
  readonly name: string
  readonly atOnce: number
  readonly meanTokens: number
  readonly pauseMs: number
}

type Setup = {
  readonly callers: readonly Caller[]
  /** How many requests run to their end. */
  readonly requests: number
  /** Everyone is one caller: first come, first served. */
  readonly isFirstCome?: boolean
}

type Waits = { readonly meanMs: number; readonly p95Ms: number }

const slots = 4
const maxQueued = 64
const msPerToken = 10
const promptTokens = 50

/** Runs a model with its callers, in simulated time. Returns the waits for a slot, and who was refused. */
function simulate({ callers, requests, isFirstCome = false }: Setup) {
  const random = createRandom(42)
  const decisions = new Decisions({ slots, maxQueued })
  const events: { atMs: number; run(): void }[] = []
  const waits = new Map(callers.map(({ name }) => [name, [] as number[]]))
  const refused = new Set<string>()
  const running = new Map<Entry, { caller: Caller; askedMs: number }>()
  let nowMs = 0
  let ended = 0
  const after = (ms: number, run: () => void) => void events.push({ atMs: nowMs + ms, run })
  const carryOut = (effects: readonly Effect[]) => {
    for (const effect of effects) {
      const { entry } = effect
      const request = running.get(entry)
      if (request === undefined) continue
      const { caller, askedMs } = request
      if (effect.type === 'refuse') {
        refused.add(caller.name)
        running.delete(entry)
        after(effect.retryAfterMs, () => arrive(caller))
        continue
      }
      waits.get(caller.name)?.push(nowMs - askedMs)
      const tokens = promptTokens + Math.ceil(-Math.log(1 - random()) * (caller.meanTokens - promptTokens))
      after(tokens * msPerToken, () => {
        ended += 1
        running.delete(entry)
        decisions.charge(entry, tokens)
        carryOut(decisions.leave(entry, nowMs))
        after(caller.pauseMs * random() * 2, () => arrive(caller))
      })
    }
  }
  const arrive = (caller: Caller) => {
    const entry = new Entry(isFirstCome ? 'everyone' : caller.name)
    running.set(entry, { caller, askedMs: nowMs })
    carryOut(decisions.enter(entry, nowMs))
    if (entry.state === 'outside') carryOut(decisions.ask(entry, { inputTokens: promptTokens, maxOutputTokens: 4096 }, nowMs))
  }
  for (const caller of callers) for (let i = 0; i < caller.atOnce; i++) after(random(), () => arrive(caller))
  while (ended < requests) {
    let next = 0
    for (let index = 1; index < events.length; index++) if ((events[index]?.atMs ?? 0) < (events[next]?.atMs ?? 0)) next = index
    const [event] = events.splice(next, 1)
    nowMs = event?.atMs ?? 0
    event?.run()
  }
  const summary = new Map([...waits].map(([name, list]) => [name, summarise(list)]))
  return { waits: summary, refused, share: (name: string) => (waits.get(name)?.length ?? 0) / requests }
}

function summarise(waits: number[]): Waits {
  const sorted = waits.toSorted((a, b) => a - b)
  return { meanMs: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length, p95Ms: sorted[Math.floor(sorted.length * 0.95)] ?? 0 }
}

const names = Array.from({ length: 10 }, (_, index) => `modest-${index}`)
const modest = (pauseMs: number): Caller[] => names.map((name) => ({ name, atOnce: 2, meanTokens: 100, pauseMs }))

/** How many times as long each modest caller waits, in the mean and at the 95th percentile. */
function ratios(after: Map<string, Waits>, before: Map<string, Waits>): number[] {
  return names.flatMap((name) => {
    const [now, then] = [after.get(name), before.get(name)]
    return now === undefined || then === undefined ? [] : [now.meanMs / then.meanMs, now.p95Ms / then.p95Ms]
  })
}

describe('ten modest callers that use a model fully, in 20,000 requests', () => {
  const equal: Caller = { name: 'eleventh', atOnce: 2, meanTokens: 100, pauseMs: 0 }
  const greedy: Caller = { ...equal, atOnce: 100, meanTokens: 400 }
  const beside = (eleventh: Caller, { requests = 20_000, isFirstCome = false } = {}) =>
    simulate({ callers: [...modest(0), eleventh], requests, isFirstCome })

  test('wait as long beside a greedy caller as beside one like them, within 10 percent, and are never refused', () => {
    const before = beside(equal)
    const after = beside(greedy)
    const all = ratios(after.waits, before.waits)
    expect(all).toHaveLength(20)
    expect(Math.max(...all)).toBeLessThan(1.1)
    expect(Math.min(...all)).toBeGreaterThan(0.9)
    expect([...after.refused]).toEqual(['eleventh'])
    // An eleventh of the tokens, in requests that are four times as long.
    expect(after.share('eleventh')).toBeCloseTo(1 / 41, 2)
  })

  test('would wait more than twice as long where the first to come is the first to be served', () => {
    const few = { requests: 5000, isFirstCome: true }
    const all = ratios(beside({ ...greedy, atOnce: 40 }, few).waits, beside(equal, few).waits)
    expect(Math.min(...all)).toBeGreaterThan(2)
  })
})

describe('ten modest callers that use a quarter of a model, in 20,000 requests', () => {
  const beside = (atOnce: number) =>
    simulate({
      callers: [...modest(18_000), { name: 'eleventh', atOnce, meanTokens: 100, pauseMs: 0 }],
      requests: 20_000,
    })

  test('wait for the next free slot beside a greedy caller, however much it asks for', () => {
    const before = beside(2 * slots)
    const after = beside(20 * slots)
    const all = ratios(after.waits, before.waits)
    expect(Math.max(...all)).toBeLessThan(1.15)
    expect(Math.min(...all)).toBeGreaterThan(0.85)
    // A quarter of the mean time of a request, for each that is served before it.
    for (const name of names) expect(after.waits.get(name)?.meanMs).toBeLessThan((2 * 100 * msPerToken) / slots)
    expect([...after.refused]).toEqual(['eleventh'])
  })
})
