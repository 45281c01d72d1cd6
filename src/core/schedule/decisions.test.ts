import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roundsOf } from '../../../test/support/process/soak-length.ts'
import type { Lane, RequestCost } from '../../contract/scheduler.ts'
import { Decisions, type Effect } from './decisions.ts'
import { Entry } from './entry.ts'

const cost = (tokens: number): RequestCost => ({ inputTokens: tokens, maxOutputTokens: 0 })

/** A model with requests by name: `a`, `a/s` in a session, `-a` in the background. Each has a cost of 100 tokens unless given. */
function open({ slots = 1, maxQueued = 100 } = {}) {
  const decisions = new Decisions({ slots, maxQueued })
  const names = new Map<Entry, string>()
  const granted: Entry[] = []
  const take = (effects: readonly Effect[]) => {
    for (const { type, entry } of effects) if (type === 'grant') granted.push(entry)
  }
  const enter = (name: string, tokens = 100): Entry => {
    const lane: Lane = name.startsWith('-') ? 'background' : 'interactive'
    const [caller = '', session = ''] = name.split('/')
    const entry = new Entry(caller, session, lane)
    names.set(entry, name)
    take(decisions.enter(entry, 0))
    take(decisions.ask(entry, cost(tokens), 0))
    return entry
  }
  const end = (entry: Entry, tokens?: number) => {
    if (tokens !== undefined) decisions.charge(entry, tokens)
    take(decisions.leave(entry, 1))
  }
  /** Lets all run to their end, each with its expected cost. */
  const drainEntries = (): Entry[] => {
    const order: Entry[] = []
    for (let entry = granted.shift(); entry !== undefined; entry = granted.shift()) {
      order.push(entry)
      decisions.charge(entry, entry.share?.expected ?? 0)
      end(entry)
    }
    return order
  }
  const drain = (): string[] => drainEntries().map((entry) => names.get(entry) ?? '')
  return { decisions, enter, end, drain, drainEntries, granted }
}

describe('callers that wait', () => {
  test('callers that wait take turns, no matter how many requests they have in the queue', () => {
    const { enter, drain } = open()
    for (const name of ['a', 'a', 'a', 'a', 'b', 'c', 'b', 'c']) enter(name)
    expect(drain().join('')).toBe('abcabcaa')
  })

  test('callers that wait take turns by tokens: who asks for less runs more often', () => {
    const { enter, drain } = open()
    enter('x', 1)
    for (let i = 0; i < 3; i++) enter('large', 400)
    for (let i = 0; i < 8; i++) enter('small', 100)
    expect(drain().slice(1)).toEqual([
      ...['large', 'small', 'small', 'small', 'small'],
      ...['large', 'small', 'small', 'small', 'small'],
      'large',
    ])
  })

  test('callers that wait pay for their use, not for the estimate', () => {
    const { enter, drain, end, granted } = open()
    const first = enter('a', 10)
    for (const name of ['a', 'b', 'b', 'b']) enter(name, 100)
    granted.length = 0
    // 310 instead of 10.
    end(first, 310)
    expect(drain()).toEqual(['b', 'b', 'b', 'a'])
  })

  test('callers that wait get back what they did not use', () => {
    const { enter, drain, end, granted } = open()
    const first = enter('a', 1000)
    for (const name of ['a', 'b', 'a', 'b']) enter(name, 100)
    granted.length = 0
    end(first, 0)
    expect(drain()).toEqual(['a', 'b', 'a', 'b'])
  })

  test('callers that wait save nothing while they ask for nothing', () => {
    const { enter, drain, end } = open()
    const first = enter('b', 1)
    for (let i = 0; i < 50; i++) enter('a')
    end(first, 1)
    const order = drain()
    expect(order).toHaveLength(51)
    // `b` was away while `a` got 5000 tokens.
    enter('a')
    for (let i = 0; i < 3; i++) enter('a')
    for (let i = 0; i < 3; i++) enter('b')
    expect(drain()).toEqual(['a', 'b', 'a', 'b', 'a', 'b', 'a'])
  })

  test('callers that wait share between their sessions what they get', () => {
    const { enter, drain } = open()
    enter('x')
    for (const name of ['a/1', 'a/1', 'a/1', 'a/2', 'b', 'b', 'b', 'b']) enter(name)
    expect(drain().slice(1)).toEqual(['a/1', 'b', 'a/2', 'b', 'a/1', 'b', 'a/1', 'b'])
  })
})

describe('what a request will generate', () => {
  test('is taken from what its caller generated before, and never for more than its limit', () => {
    const { decisions, enter, end } = open()
    for (let i = 0; i < 100; i++) end(enter('a', 0), 50)
    const ask = (limit: RequestCost) => {
      const entry = new Entry('a')
      decisions.enter(entry, 0)
      decisions.ask(entry, limit, 0)
      const { expected } = entry.share ?? {}
      decisions.leave(entry, 0)
      return Math.round(expected ?? 0)
    }
    expect(ask({ inputTokens: 7, maxOutputTokens: 10 })).toBe(17)
  })
})

describe('background requests', () => {
  test('background requests wait while interactive ones do, but get every ninth slot', () => {
    const { enter, drain } = open()
    enter('x')
    for (let i = 0; i < 3; i++) enter('-b')
    for (let i = 0; i < 20; i++) enter('a')
    const order = drain().join('').replaceAll('-b', 'B')
    expect(order).toBe('xaaaaaaaaBaaaaaaaaBaaaaB')
  })

  test('background requests get all slots when nothing else waits', () => {
    const { decisions, enter } = open({ slots: 4 })
    for (let i = 0; i < 4; i++) enter('-b')
    expect(decisions.load).toMatchObject({ busy: 4, queued: 0 })
  })
})

test('the place of a request is where it is granted, if nothing else comes', () => {
  const name = fc.constantFrom('a', 'a/1', 'a/2', 'b', 'c', '-d', '-e/1')
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.integer({ min: 1, max: 500 })), { minLength: 1, maxLength: 40 }), (arriving) => {
      const { decisions, enter, drainEntries } = open()
      enter('x')
      const entries = arriving.map(([name, tokens]) => enter(name, tokens))
      const places = entries.map((entry) => decisions.placeOf(entry, 0)?.position)
      const order = drainEntries()
      expect(places).toEqual(entries.map((entry) => order.indexOf(entry)))
    }),
    { numRuns: roundsOf(100, 500) },
  )
})

test('a refusal by a full queue has the time until there is a place', () => {
  const decisions = new Decisions({ slots: 2, maxQueued: 0 })
  const run = (nowMs: number) => {
    const entry = new Entry('a')
    decisions.enter(entry, nowMs)
    decisions.ask(entry, {}, nowMs)
    return entry
  }
  decisions.leave(run(0), 2000)
  const [one] = [run(2000), run(2000)]
  const refuse = () => decisions.enter(new Entry('a'), 2000)
  const refused = (retryAfterMs: number) => [{ type: 'refuse', reason: 'full', retryAfterMs }]
  expect([refuse(), refuse()]).toMatchObject([refused(1000), refused(2000)])
  if (one !== undefined) decisions.leave(one, 2000)
  expect(decisions.load).toMatchObject({ busy: 1, queued: 0, refused: 2 })
})

test('every request that enters is granted in the end, no matter what comes between, and every slot is free then', () => {
  const step = fc.oneof(
    fc.record({ type: fc.constant('enter' as const), name: fc.constantFrom('a', 'a/1', 'b', '-c'), tokens: fc.nat(1000) }),
    fc.record({ type: fc.constant('end' as const), which: fc.nat(20), tokens: fc.nat(2000) }),
    fc.record({ type: fc.constant('abandon' as const), which: fc.nat(20) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const { decisions, enter, end, drain } = open({ slots: 3, maxQueued: 20 })
      const present: Entry[] = []
      for (const one of steps) {
        if (one.type === 'enter') {
          if (decisions.load.busy + decisions.load.queued < 23) present.push(enter(one.name, one.tokens))
          continue
        }
        const entry = present[one.which % Math.max(1, present.length)]
        if (entry === undefined || (one.type === 'end') !== (entry.state === 'running')) continue
        present.splice(present.indexOf(entry), 1)
        end(entry, one.type === 'end' ? one.tokens : undefined)
        const waiting = (lane: Lane) => present.filter((other) => other.lane === lane && other.state !== 'running').length
        expect(decisions.load.lanes).toEqual({ interactive: waiting('interactive'), background: waiting('background') })
      }
      drain()
      expect(present.filter(({ state }) => state === 'waiting')).toEqual([])
      expect(decisions.load).toMatchObject({ busy: 0, queued: 0 })
    }),
    { numRuns: roundsOf(100, 300) },
  )
})

describe('a background request that yields', () => {
  const enter = (decisions: Decisions, lane: Lane, atMs: number, onWanted?: () => void) => {
    const entry = new Entry('caller', '', lane, onWanted)
    decisions.enter(entry, atMs)
    return { entry, effects: decisions.ask(entry, cost(1), atMs) }
  }
  const yields = () => undefined

  test('is asked for its slot by an interactive one that waits: the last that began, once', () => {
    const decisions = new Decisions({ slots: 2, maxQueued: 9 })
    const { entry: first } = enter(decisions, 'background', 0, yields)
    const { entry: second } = enter(decisions, 'background', 1, yields)
    expect(enter(decisions, 'interactive', 2).effects).toEqual([{ type: 'want', entry: second }])
    second.onWanted = undefined
    expect(enter(decisions, 'interactive', 3).effects).toEqual([{ type: 'want', entry: first }])
    first.onWanted = undefined
    expect(enter(decisions, 'interactive', 4).effects).toEqual([])
  })

  test('keeps its slot from another background request, and while there are free ones', () => {
    const decisions = new Decisions({ slots: 2, maxQueued: 9 })
    enter(decisions, 'background', 0, yields)
    expect(enter(decisions, 'interactive', 1).effects).toMatchObject([{ type: 'grant' }])
    expect(enter(decisions, 'background', 2, yields).effects).toEqual([])
  })
})

describe('a model with more slots than its server', () => {
  const open = () => new Decisions({ slots: 20, backgroundSlots: () => 2, maxQueued: 100 })
  const enter = (decisions: Decisions, lane: Lane, atMs: number) => {
    const entry = new Entry('caller', '', lane, () => undefined)
    decisions.enter(entry, atMs)
    return { entry, effects: decisions.ask(entry, cost(1), atMs) }
  }

  test('has no more background requests than the server computes, and says so', () => {
    const decisions = open()
    const effects = [0, 1, 2].map((atMs) => enter(decisions, 'background', atMs).effects.length)
    expect(effects).toEqual([1, 1, 0])
    expect(decisions.load).toMatchObject({ slots: 20, backgroundSlots: 2, busy: 2, queued: 1 })
  })

  test('begins an interactive request immediately, and asks a background one for its place in the server', () => {
    const decisions = open()
    enter(decisions, 'background', 0)
    const { entry: second } = enter(decisions, 'background', 1)
    const { entry, effects } = enter(decisions, 'interactive', 2)
    expect(effects).toEqual([
      { type: 'grant', entry },
      { type: 'want', entry: second },
    ])
  })

  test('asks as many background requests for their places as its part of the server has become smaller', () => {
    let part = 4
    const decisions = new Decisions({ slots: 20, backgroundSlots: () => part, maxQueued: 100 })
    const entries = [0, 1, 2, 3].map((atMs) => enter(decisions, 'background', atMs).entry)
    expect(decisions.shrink()).toEqual([])
    part = 2
    expect(decisions.shrink().map(({ entry }) => entry)).toEqual([entries[3], entries[2]])
  })

  test('lets a background request begin after eight interactive ones, though the server is full', () => {
    const decisions = open()
    for (const atMs of [0, 1]) enter(decisions, 'interactive', atMs)
    const { entry: waiting } = enter(decisions, 'background', 2)
    const effects = Array.from({ length: 8 }, (_, index) => enter(decisions, 'interactive', 3 + index).effects)
    expect(effects.flat().filter(({ entry }) => entry === waiting)).toEqual([{ type: 'grant', entry: waiting }])
  })
})
