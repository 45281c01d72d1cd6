import fc from 'fast-check'
import { expect, test } from 'vitest'
import { roundsOf } from '../../../../test/support/process/soak-length.ts'
import { Breaker, type BreakerPass, type BreakerResult } from './breaker.ts'

/** The longest waits: 1, 2, 4 … 30 s. */
const random = () => 1

test('three failures in a row open it, and a success in between resets the count', () => {
  const breaker = new Breaker({ random })
  for (const result of ['failed', 'failed', 'ok', 'failed', 'failed'] as const) use(breaker, result, 0)
  expect(breaker.state(0)).toBe('closed')
  use(breaker, 'failed', 0)
  expect(breaker.state(0)).toBe('open')
  expect(breaker.enter(999)).toBeUndefined()
  expect(breaker.admitsAtMs(10)).toBe(1000)
})

test('a refused connection opens it immediately, and neutral results never do', () => {
  const breaker = new Breaker({ random })
  for (let count = 0; count < 10; count++) use(breaker, 'neutral', 0)
  expect(breaker.state(0)).toBe('closed')
  use(breaker, 'refused', 0)
  expect(breaker.state(0)).toBe('open')
})

test('each failed trial doubles the wait, up to half a minute; a good one closes', () => {
  const breaker = new Breaker({ random })
  use(breaker, 'refused', 0)
  const waits: number[] = []
  let nowMs = 0
  for (let count = 0; count < 7; count++) {
    const untilMs = breaker.admitsAtMs(nowMs)
    waits.push(untilMs - nowMs)
    nowMs = untilMs
    expect(breaker.state(nowMs)).toBe('half-open')
    use(breaker, 'failed', nowMs)
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  nowMs = breaker.admitsAtMs(nowMs)
  use(breaker, 'ok', nowMs)
  expect(breaker.state(nowMs)).toBe('closed')
  use(breaker, 'refused', nowMs)
  expect(breaker.admitsAtMs(nowMs)).toBe(nowMs + 1000)
})

test('one that gives nobody a token comes back by one request, whatever its checks say', () => {
  const reasons: string[] = []
  const breaker = new Breaker({ random, onOpen: (reason) => reasons.push(reason) })
  breaker.onSilent(0)
  // Others that it loses meanwhile do not prolong the wait.
  breaker.onSilent(500)
  breaker.onCheck(true, 600)
  expect([breaker.state(999), breaker.admitsAtMs(999), reasons]).toEqual(['open', 1000, ['silent']])
  const silent = breaker.enter(1000)
  breaker.onCheck(true, 1500)
  expect([silent !== undefined, breaker.enter(1500), breaker.state(1500)]).toEqual([true, undefined, 'half-open'])
  breaker.onSilent(6000)
  if (silent !== undefined) breaker.leave(silent, 'neutral', 6000)
  expect(breaker.admitsAtMs(6000)).toBe(8000)
  const speaks = breaker.enter(8000)
  if (speaks !== undefined) breaker.confirm(speaks)
  expect([breaker.state(8000), reasons]).toEqual(['closed', ['silent']])
})

test('what another process has ejected gets one request', () => {
  const reasons: string[] = []
  const breaker = new Breaker({ random, onOpen: (reason) => reasons.push(reason) })
  breaker.onEjectedElsewhere('silent', 0)
  const trial = breaker.enter(0)
  breaker.onCheck(true, 10)
  expect([trial !== undefined, breaker.enter(10), breaker.state(10)]).toEqual([true, undefined, 'half-open'])
  if (trial !== undefined) breaker.leave(trial, 'ok', 20)
  expect([breaker.state(20), reasons]).toEqual(['closed', []])
})

test.each([
  { reason: 'unreachable', state: 'closed' },
  { reason: 'health-check', state: 'closed' },
  { reason: 'failures', state: 'half-open' },
  { reason: 'silent', state: 'half-open' },
] as const)('a good check of what another process has ejected ($reason) leaves it $state', ({ reason, state }) => {
  const breaker = new Breaker({ random })
  breaker.onEjectedElsewhere(reason, 0)
  breaker.onCheck(true, 10)
  expect(breaker.state(10)).toBe(state)
  // One of its own ejections is another matter.
  for (const ms of [20, 30, 40]) breaker.onCheck(false, ms)
  breaker.onCheck(true, 50)
  expect(breaker.state(50)).toBe('half-open')
})

test('a trial that is lost opens it again, for twice as long each time, and no other request does', () => {
  const breaker = new Breaker({ random })
  use(breaker, 'lost', 0)
  expect(breaker.state(0)).toBe('closed')
  breaker.onEjectedElsewhere('health-check', 0)
  let nowMs = 0
  for (const waitMs of [1000, 2000, 4000]) {
    use(breaker, 'lost', nowMs)
    expect(breaker.admitsAtMs(nowMs)).toBe(nowMs + waitMs)
    nowMs += waitMs
  }
})

test('auxiliary successes offset auxiliary failures, never failed generations', () => {
  const breaker = new Breaker({ random })
  const ask = (result: BreakerResult, nowMs: number) => {
    const pass = breaker.enter(nowMs, true)
    if (pass === undefined) return expect.unreachable('there should be a pass')
    breaker.leave(pass, result, nowMs)
  }
  for (const result of ['failed', 'failed', 'ok', 'failed', 'failed', 'ok'] as const) ask(result, 0)
  expect(breaker.failures).toBe(0)
  for (let count = 0; count < 2; count++) {
    use(breaker, 'failed', 0)
    ask('ok', 0)
  }
  expect(breaker.failures).toBe(2)
  use(breaker, 'failed', 0)
  ask('ok', 1000)
  expect(breaker.state(1000)).toBe('half-open')
  use(breaker, 'ok', 1000)
  expect(breaker.state(1000)).toBe('closed')
})

test('trouble of long ago does not lengthen the wait', () => {
  const breaker = new Breaker({ random })
  let nowMs = 0
  for (let count = 0; count < 6; count++) {
    use(breaker, 'refused', nowMs)
    nowMs = breaker.admitsAtMs(nowMs)
  }
  use(breaker, 'failed', nowMs + 30_001)
  expect(breaker.admitsAtMs(nowMs + 30_001)).toBe(nowMs + 30_001 + 1000)
})

test('doubtful failures open nothing, unless they are blamed on the endpoint', () => {
  const breaker = new Breaker({ random })
  const passes = Array.from({ length: 9 }, () => enter(breaker, 0))
  for (const pass of passes) breaker.leave(pass, 'doubtful', 0)
  expect(breaker.state(0)).toBe('closed')
  for (const pass of passes.slice(0, 3)) breaker.blame(pass, 10)
  expect(breaker.state(10)).toBe('open')
  breaker.blame(passes[4] ?? expect.unreachable(), 20)
  expect(breaker.admitsAtMs(20)).toBe(1010)
})

test('a doubtful trial waits as long again, and twice as long once it is blamed', () => {
  const breaker = new Breaker({ random })
  use(breaker, 'refused', 0)
  const trial = enter(breaker, 1000)
  breaker.leave(trial, 'doubtful', 1000)
  expect(breaker.admitsAtMs(1000)).toBe(2000)
  breaker.blame(trial, 1500)
  expect(breaker.admitsAtMs(1500)).toBe(3500)
})

test('a forced request closes an open breaker when its reply begins, and prolongs nothing when it fails', () => {
  const breaker = new Breaker({ random })
  use(breaker, 'refused', 0)
  for (const result of ['refused', 'failed', 'doubtful', 'lost', 'neutral'] as const) breaker.leave(breaker.force(), result, 10)
  expect(breaker.admitsAtMs(10)).toBe(1000)
  const first = breaker.force()
  const second = breaker.force()
  breaker.confirm(first)
  expect(breaker.state(20)).toBe('closed')
  // It began before the breaker closed.
  breaker.leave(second, 'refused', 30)
  expect(breaker.state(30)).toBe('closed')
  breaker.leave(first, 'failed', 40)
  expect(breaker.state(40)).toBe('open')
})

test('jitter takes at most half of the wait', () => {
  const breaker = new Breaker({ random: () => 0 })
  use(breaker, 'refused', 0)
  expect(breaker.admitsAtMs(0)).toBe(500)
})

test('half-open admits one, and another after a neutral result', () => {
  const breaker = new Breaker({ random })
  use(breaker, 'refused', 0)
  const trial = enter(breaker, 1000)
  expect(breaker.enter(1000)).toBeUndefined()
  expect(breaker.admitsAtMs(1500)).toBe(2500)
  breaker.leave(trial, 'neutral', 1000)
  enter(breaker, 1000)
})

test('a trial that begins to reply closes it, but until it ends well one failure opens it again', () => {
  const breaker = new Breaker({ random })
  use(breaker, 'refused', 0)
  const trial = enter(breaker, 1000)
  breaker.confirm(trial)
  expect(breaker.state(1000)).toBe('closed')
  breaker.leave(trial, 'failed', 1500)
  // The back-off continues: 2 s, not 1.
  expect(breaker.admitsAtMs(1500)).toBe(3500)
})

test('requests that began before it opened or closed change nothing', () => {
  const breaker = new Breaker({ random })
  const [first, second] = [enter(breaker, 0), enter(breaker, 0)]
  use(breaker, 'refused', 0)
  breaker.leave(first, 'ok', 10)
  expect(breaker.state(10)).toBe('open')
  use(breaker, 'ok', 1000)
  breaker.leave(second, 'refused', 1001)
  expect(breaker.state(1001)).toBe('closed')
})

test('checks open it, and end the wait of an endpoint that was down', () => {
  const breaker = new Breaker({ random })
  for (const isOk of [false, false, true, false, false]) breaker.onCheck(isOk, 0)
  expect(breaker.state(0)).toBe('closed')
  breaker.onCheck(false, 0)
  expect(breaker.state(0)).toBe('open')
  breaker.onCheck(true, 200)
  expect(breaker.state(200)).toBe('half-open')
  breaker.onCheck(false, 300)
  expect(breaker.admitsAtMs(300)).toBe(2300)
})

test('a good check does not shorten the wait of a server that is up and fails requests', () => {
  const breaker = new Breaker({ random })
  for (let count = 0; count < 3; count++) use(breaker, 'failed', 0)
  breaker.onCheck(true, 100)
  expect(breaker.state(100)).toBe('open')
})

test('in any sequence there is at most one trial, and an open breaker admits nothing', () => {
  const step = fc.record({
    type: fc.constantFrom('enter', 'force', 'leave', 'confirm', 'check', 'blame'),
    result: fc.constantFrom<BreakerResult>('ok', 'failed', 'refused', 'doubtful', 'lost', 'neutral'),
    index: fc.nat(10),
    waitMs: fc.constantFrom(0, 1, 500, 1000, 40_000),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const breaker = new Breaker({ random: () => 0.5 })
      const passes: BreakerPass[] = []
      const left: BreakerPass[] = []
      let trials: BreakerPass[] = []
      let nowMs = 0
      for (const { type, result, index, waitMs } of steps) {
        nowMs += waitMs
        const before = breaker.state(nowMs)
        const pass = passes[index % Math.max(1, passes.length)]
        if (type === 'enter') {
          const entered = breaker.enter(nowMs)
          if (before === 'open') expect(entered).toBeUndefined()
          if (before === 'closed') expect(entered).toBeDefined()
          if (entered !== undefined) passes.push(entered)
          if (entered !== undefined && before === 'half-open') trials.push(entered)
        } else if (type === 'force') passes.push(breaker.force())
        else if (type === 'blame') for (const one of left.splice(index, 1)) breaker.blame(one, nowMs)
        else if (type === 'check') breaker.onCheck(result === 'ok', nowMs)
        else if (pass !== undefined && type === 'confirm') breaker.confirm(pass)
        else if (pass !== undefined) {
          passes.splice(passes.indexOf(pass), 1)
          if (result === 'doubtful') left.push(pass)
          breaker.leave(pass, result, nowMs)
          trials = trials.filter((trial) => trial !== pass)
        }
        if (breaker.state(nowMs) === 'closed') trials = []
        expect(trials.length).toBeLessThanOrEqual(1)
        expect(breaker.admitsAtMs(nowMs)).toBeLessThanOrEqual(nowMs + 30_000)
      }
    }),
    { numRuns: roundsOf(200, 1000) },
  )
})

function enter(breaker: Breaker, nowMs: number): BreakerPass {
  const pass = breaker.enter(nowMs)
  if (pass === undefined) throw new Error('the breaker does not admit')
  return pass
}

function use(breaker: Breaker, result: BreakerResult, nowMs: number): void {
  breaker.leave(enter(breaker, nowMs), result, nowMs)
}

test('a good check lets others in while a trial is silent, and one failure opens it again', () => {
  const breaker = new Breaker({ random: () => 0 })
  const first = breaker.enter(0)
  if (first === undefined) throw new Error('a closed breaker admits')
  breaker.leave(first, 'refused', 0)
  const trial = breaker.enter(1000)
  if (trial === undefined) throw new Error('a half-open breaker admits one')
  expect(breaker.enter(1000)).toBeUndefined()
  breaker.onCheck(false, 1500)
  expect(breaker.state(1500)).toBe('half-open')
  breaker.onCheck(true, 2000)
  expect(breaker.enter(2000)).toBeDefined()
  breaker.leave(trial, 'failed', 2500)
  expect(breaker.state(2500)).toBe('open')
})
