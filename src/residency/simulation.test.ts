import { describe, expect, test } from 'vitest'
import type { ResidencyEffect } from './events.ts'
import { ResidencyRules } from './rules.ts'

/** Times of a made-up machine, in milliseconds. */
const findMs = 5
const loadMs = 3000
const unloadMs = 100
const limits = { budgetBytes: 10, minResidencyMs: 10_000, idleGraceMs: 1000 }

type Claim = { granted(): void }
type Agent = { readonly model: string; readonly runMs: number; readonly pauseMs: number }
type Served = { readonly model: string; readonly waitedMs: number; readonly endedMs: number }

/** Agents that send one request after the other for a while, to models of these sizes. No clock and no process takes part. */
function simulate(sizes: Readonly<Record<string, number>>, agents: readonly Agent[], untilMs: number) {
  const rules = new ResidencyRules<Claim>(limits)
  const due: { readonly atMs: number; readonly run: () => void }[] = []
  const served: Served[] = []
  const loads: string[] = []
  const refused: unknown[] = []
  /** Requests that are granted while their model's process still loads. */
  const untilReady = new Map<string, (() => void)[]>()
  const ready = new Set<string>()
  let nowMs = 0
  let mostBytes = 0

  const at = (atMs: number, run: () => void) => {
    const index = due.findIndex((other) => other.atMs > atMs)
    due.splice(index === -1 ? due.length : index, 0, { atMs, run })
  }
  const report = (event: Parameters<typeof rules.decide>[0]) => {
    const { effects, wakeAtMs } = rules.decide(event, nowMs)
    mostBytes = Math.max(mostBytes, rules.usedBytes)
    for (const effect of effects) perform(effect)
    if (wakeAtMs !== Number.POSITIVE_INFINITY) at(wakeAtMs, () => report({ type: 'tick' }))
  }
  const perform = (effect: ResidencyEffect<Claim>) => {
    switch (effect.type) {
      case 'load':
        return at(nowMs + findMs, () => report({ type: 'reserve', key: effect.key, bytes: sizes[effect.key] ?? 0 }))
      case 'admit':
        loads.push(effect.key)
        return at(nowMs + loadMs, () => {
          ready.add(effect.key)
          report({ type: 'ready', key: effect.key })
          for (const run of untilReady.get(effect.key)?.splice(0) ?? []) run()
        })
      case 'unload':
        ready.delete(effect.key)
        return at(nowMs + unloadMs, () => report({ type: 'freed', key: effect.key }))
      case 'grant':
        return effect.claim.granted()
      case 'refuse':
      case 'reject':
      case 'defer':
        return refused.push(effect)
    }
  }
  const send = ({ model, runMs, pauseMs }: Agent) => {
    const sentMs = nowMs
    const run = () => {
      const waitedMs = nowMs - sentMs
      at(nowMs + runMs, () => {
        served.push({ model, waitedMs, endedMs: nowMs })
        report({ type: 'end', key: model, claim })
        if (nowMs < untilMs) at(nowMs + pauseMs, () => send({ model, runMs, pauseMs }))
      })
    }
    const claim: Claim = {
      granted: () => {
        if (ready.has(model)) run()
        else untilReady.set(model, [...(untilReady.get(model) ?? []), run])
      },
    }
    report({ type: 'claim', key: model, claim, kind: 'request' })
  }

  for (const id of Object.keys(sizes)) rules.add(id, { id, isPinned: false }, 0)
  for (const agent of agents) at(0, () => send(agent))
  // What waits at the end is served too.
  for (let next = due.shift(); next !== undefined; next = due.shift()) {
    nowMs = Math.max(nowMs, next.atMs)
    next.run()
  }
  const of = (model: string) => served.filter((one) => one.model === model)
  const longestWaitMs = (model?: string) => Math.max(...(model === undefined ? served : of(model)).map((one) => one.waitedMs))
  return { served, of, loads, refused, longestWaitMs, mostBytes: () => mostBytes }
}

/** The longest wait for one turn of another model: its load, its time, the end of what runs on it, and the own load. */
const turnMs = (runMs: number) => findMs + loadMs + Math.max(limits.minResidencyMs, loadMs) + runMs + unloadMs + loadMs

describe('two agents that alternate between two models that do not fit together', () => {
  const twoMinutes = 120_000
  const { served, of, loads, refused, longestWaitMs, mostBytes } = simulate(
    { a: 6, b: 6 },
    [
      { model: 'a', runMs: 800, pauseMs: 500 },
      { model: 'b', runMs: 800, pauseMs: 500 },
    ],
    twoMinutes,
  )

  test('the two agents are both served all the time, and no request fails', () => {
    expect(refused).toEqual([])
    expect(served.length).toBeGreaterThan(60)
    expect(Math.abs(of('a').length - of('b').length)).toBeLessThan(served.length / 5)
  })

  test('the two agents share the time in slices: a load serves many requests', () => {
    expect(loads.length).toBeLessThanOrEqual(twoMinutes / limits.minResidencyMs)
    expect(served.length / loads.length).toBeGreaterThan(6)
  })

  test('the two agents wait no longer than one turn of the other model', () => {
    expect(longestWaitMs()).toBeLessThanOrEqual(turnMs(800))
  })

  test('never use more memory than there is', () => {
    expect(mostBytes()).toBe(6)
  })
})

test('agents that leave their models idle for long do not wait for the minimum residency', () => {
  const { longestWaitMs, refused } = simulate(
    { a: 6, b: 6 },
    [
      { model: 'a', runMs: 500, pauseMs: 20_000 },
      { model: 'b', runMs: 500, pauseMs: 20_000 },
    ],
    120_000,
  )
  expect(refused).toEqual([])
  expect(longestWaitMs()).toBeLessThan(limits.minResidencyMs)
})

test('one request for a model waits one turn, however many clients another model has', () => {
  const many = Array.from({ length: 50 }, () => ({ model: 'busy', runMs: 2000, pauseMs: 10 }))
  const { longestWaitMs, of, refused } = simulate(
    { busy: 9, rare: 9 },
    [...many, { model: 'rare', runMs: 1000, pauseMs: 30_000 }],
    300_000,
  )
  expect(refused).toEqual([])
  expect(of('rare').length).toBeGreaterThan(5)
  expect(longestWaitMs('rare')).toBeLessThanOrEqual(turnMs(2000))
  expect(longestWaitMs('busy')).toBeLessThanOrEqual(turnMs(1000))
})

test.each([3, 5])('of %i models in use of which two fit, each one has its turn', (count) => {
  const ids = Array.from({ length: count }, (_, index) => `m${index}`)
  const { longestWaitMs, of, refused, mostBytes } = simulate(
    Object.fromEntries(ids.map((id) => [id, 5])),
    ids.flatMap((model) => [
      { model, runMs: 700, pauseMs: 100 },
      { model, runMs: 1300, pauseMs: 100 },
    ]),
    600_000,
  )
  expect(refused).toEqual([])
  expect(mostBytes()).toBeLessThanOrEqual(10)
  const counts = ids.map((id) => of(id).length)
  expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) / 2)
  // Those before it go in pairs; it comes with the last pair.
  expect(longestWaitMs()).toBeLessThanOrEqual(Math.ceil(count / 2) * turnMs(1300))
})
