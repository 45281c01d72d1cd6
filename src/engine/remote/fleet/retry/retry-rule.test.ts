import { expect, test } from 'vitest'
import type { UpstreamFailure } from '../../transport/upstream-error.ts'
import { rowOf } from './failure-table.ts'
import {
  type Decision,
  decide,
  type Fleet,
  nextAttempt,
  type Progress,
  type RetryState,
  type Situation,
  untried,
} from './retry-rule.ts'

const refused: UpstreamFailure = { type: 'connection', isRefused: true }
const status = (code: number, retryAfterMs?: number): Extract<UpstreamFailure, { type: 'status' }> => {
  return { type: 'status', status: code, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}
const truncated: UpstreamFailure = { type: 'truncated' }

const nothing: Progress = { hasAdvanced: false, hasBegun: false, canContinue: false }
const begun: Progress = { hasAdvanced: false, hasBegun: true, canContinue: true }
const advanced: Progress = { hasAdvanced: true, hasBegun: true, canContinue: true }

type Case = {
  readonly failure?: UpstreamFailure
  readonly progress?: Progress
  readonly state?: Partial<RetryState>
  /** Replica `a` fails. */
  readonly usable?: readonly string[]
  readonly lastedMs?: number
  readonly situation?: Partial<Situation>
}

function decideOn({
  failure = refused,
  progress = nothing,
  state = {},
  usable = [],
  lastedMs = 0,
  situation = {},
}: Case): Decision {
  const fleet = fleetOf({ known: ['a', 'b', 'c'], usable })
  const retryAfterMs = failure.type === 'status' ? failure.retryAfterMs : undefined
  const attempt = { type: 'failed', replicaId: 'a', row: rowOf(failure, 'ours'), retryAfterMs, lastedMs, progress } as const
  return decide({ ...untried, ...state }, attempt, { fleet, nowMs: 1000, random: () => 0.5, ...situation })
}

function fleetOf({ known, usable }: { readonly known: readonly string[]; readonly usable: readonly string[] }): Fleet {
  return {
    hasKnown: (except) => known.some((id) => !except.has(id)),
    isUsable: (id) => usable.includes(id),
    hasUsable: (...except) => usable.some((id) => !except.some((set) => set.has(id))),
  }
}

function stateAfter(wanted: Case): RetryState {
  const decision = decideOn(wanted)
  if (decision.type === 'give-up') return expect.unreachable('it should be tried again')
  return decision.state
}

/** How often a request is tried that always fails alike. */
function attemptsOf(wanted: Case): number {
  let state = untried
  for (let attempts = 1; attempts < 20; attempts++) {
    const decision = decideOn({ usable: ['a'], ...wanted, state })
    if (decision.type === 'give-up') return attempts
    state = decision.state
  }
  return expect.unreachable('it should be given up')
}

const delayAfter = (wanted: Case) => {
  const decision = decideOn(wanted)
  return decision.type === 'give-up' ? 'give-up' : decision.delayMs
}

test.each([
  ...[400, 401, 403, 404, 405, 409, 410, 413, 422, 499, 501, 505, 200, 302].map((code) => ({ code, attempts: 1 })),
  ...[408, 425, 500, 502, 504, 520].map((code) => ({ code, attempts: 2 })),
  ...[429, 503, 529].map((code) => ({ code, attempts: 4 })),
])('status $code: attempts $attempts', ({ code, attempts }) => {
  expect(attemptsOf({ failure: status(code) })).toBe(attempts)
})

test.each<[string, UpstreamFailure, number]>([
  ['a refused connection', refused, 4],
  ['a connection that breaks before an answer', { type: 'connection', isRefused: false }, 2],
  ['a reply that breaks off', truncated, 2],
  ['an error object, whatever status it names', { ...status(503), isEvent: true }, 2],
  ['an error object that blames the request', { ...status(400), isEvent: true }, 1],
  ['something that is not a reply', { type: 'malformed' }, 2],
  ['a reply without a finish reason', { type: 'incomplete', saidDone: true }, 2],
  ['a reply beyond all bounds', { type: 'excess' }, 1],
  ["another Dragoman's invalid output", { ...status(502), code: 'invalid_output' }, 1],
  ["another Dragoman's failure, which it has repeated", { ...status(502), code: 'upstream_failed' }, 1],
])('%s: attempts %s', (_, failure, attempts) => {
  expect(attemptsOf({ failure })).toBe(attempts)
})

test.each<[string, UpstreamFailure, number]>([
  ['an error object', { ...status(500), isEvent: true }, 2],
  ['a break', truncated, 2],
  ['nonsense', { type: 'malformed' }, 2],
])('%s after output is continued once, however far each attempt comes', (_, failure, attempts) => {
  expect(attemptsOf({ failure, progress: advanced })).toBe(attempts)
})

test('doubtful failures of all kinds count together', () => {
  const state = stateAfter({ failure: status(500) })
  expect(decideOn({ failure: truncated, state, usable: ['a', 'b'] })).toEqual({ type: 'give-up' })
})

test('a replica that is down by now explains its earlier failures', () => {
  const state = { ...stateAfter({ failure: truncated }), doubts: ['b'] }
  expect(decideOn({ failure: truncated, state, usable: ['a', 'c'] }).type).toBe('try-again')
  expect(decideOn({ failure: truncated, state, usable: ['a', 'b', 'c'] }).type).toBe('give-up')
  const known = stateAfter({ failure: refused, state: stateAfter({ failure: truncated }) })
  expect(decideOn({ failure: truncated, state: known }).type).toBe('try-again')
})

test('a break after long output is another one than the break before it', () => {
  const state = stateAfter({ failure: truncated, progress: advanced })
  expect(decideOn({ failure: truncated, progress: advanced, state, lastedMs: 9999 }).type).toBe('give-up')
  expect(decideOn({ failure: truncated, progress: advanced, state, lastedMs: 10_000 }).type).toBe('try-again')
  // A prompt that breaks the server after a long silence is the prompt's affair.
  expect(decideOn({ failure: truncated, progress: begun, state, lastedMs: 60_000 }).type).toBe('give-up')
})

test.each([401, 403, 404])('status %i is tried on another replica, if one is usable', (code) => {
  expect(decideOn({ failure: status(code), usable: ['b'] }).type).toBe('try-again')
  expect(decideOn({ failure: status(code), usable: ['a'] }).type).toBe('give-up')
  expect(decideOn({ failure: status(code), usable: ['b'], state: { unfit: new Set(['b']) } }).type).toBe('give-up')
})

test.each([
  { failures: 0, delayMs: 50 },
  { failures: 1, delayMs: 100 },
  { failures: 2, delayMs: 200 },
])('after $failures earlier failures the delay is half of its maximum, on average', ({ failures, delayMs }) => {
  expect(delayAfter({ state: { failures } })).toBe(delayMs)
  expect(delayAfter({ state: { failures }, situation: { random: () => 0 } })).toBe(0)
})

test('the fourth failure is the last', () => {
  expect(decideOn({ state: { failures: 3 } })).toEqual({ type: 'give-up' })
})

test.each<[string, Case, number | 'give-up']>([
  ['before the first event, it is repeated', {}, 50],
  ['after it, it is not', { progress: { ...nothing, hasBegun: true } }, 'give-up'],
  ['it is continued where possible', { progress: begun }, 50],
  ['it is continued at once by another replica', { progress: begun, usable: ['b'] }, 0],
  ['it is not continued for ever', { progress: begun, state: { failures: 3 } }, 'give-up'],
  ['a refused continuation is not repeated', { progress: begun, failure: status(400) }, 'give-up'],
])('a truncated reply: %s', (_, wanted, delay) => {
  expect(delayAfter({ failure: truncated, ...wanted })).toBe(delay)
})

test.each<[string, Case, number | 'give-up']>([
  ['is waited for', {}, 2050],
  ['is waited for before the deadline', { state: { deadlineMs: 3051 } }, 2050],
  ['is not waited for beyond the deadline', { state: { deadlineMs: 3050 } }, 'give-up'],
  ['does not bind another replica', { usable: ['b'] }, 50],
])('Retry-After %s', (_, wanted, delay) => {
  expect(delayAfter({ failure: status(429, 2000), ...wanted })).toBe(delay)
})

test('the deadline runs from the first failure', () => {
  const first = stateAfter({})
  expect(first).toMatchObject({ failures: 1, deadlineMs: 61_000, failed: new Set(['a']) })
  expect(stateAfter({ state: first, situation: { nowMs: 5000 } })).toMatchObject({ failures: 2, deadlineMs: 61_000 })
  expect(decideOn({ state: first, situation: { nowMs: 61_000, random: () => 0 } })).toEqual({ type: 'give-up' })
})

test('a reply that advanced starts the count anew, up to eight times', () => {
  const state = { failures: 3, continuations: 7, deadlineMs: 1001, failed: new Set(['b', 'c']) }
  const after = stateAfter({ progress: advanced, failure: truncated, state, lastedMs: 10_000 })
  expect(after).toMatchObject({ failures: 1, continuations: 8, deadlineMs: 61_000, failed: new Set(['a']) })
  const next = stateAfter({ progress: advanced, failure: truncated, state: after, lastedMs: 10_000 })
  expect(next).toMatchObject({ failures: 2, continuations: 8 })
})

test('a replica that cannot do the request costs no attempt and no time, as long as another is known', () => {
  const situation = { fleet: fleetOf({ known: ['a', 'b'], usable: [] }), nowMs: 0, random: () => 0 }
  const first = decide(untried, { type: 'unfit', replicaId: 'a' }, situation)
  expect(first).toEqual({ type: 'try-again', delayMs: 0, state: { ...untried, unfit: new Set(['a']) } })
  const state = { ...untried, unfit: new Set(['a']) }
  expect(decide(state, { type: 'unfit', replicaId: 'b' }, situation)).toEqual({ type: 'give-up' })
})

test('replicas that failed are avoided until all have', () => {
  const state = { ...untried, failed: new Set(['a']) }
  expect(nextAttempt(state, 2, false).avoid).toEqual(new Set(['a']))
  expect(nextAttempt(state, 1, false).avoid).toEqual(new Set())
})

test('an auxiliary request does not wait once a replica could not do it', () => {
  const state = { ...untried, unfit: new Set(['a']) }
  expect(nextAttempt(untried, 2, true).waitMs).toBe(15_000)
  expect(nextAttempt(state, 2, true).waitMs).toBe(0)
  expect(nextAttempt(state, 2, false).waitMs).toBe(15_000)
})

test('a request that moves from a silent replica is tried again immediately, after any failures, and the move does not count as one', () => {
  const before = { failures: 3, doubts: ['b'], deadlineMs: 500, failed: new Set(['b']), failedServers: new Set(['b']) }
  expect(decideOn({ failure: { type: 'silent' }, state: before })).toEqual({
    type: 'try-again',
    delayMs: 0,
    state: { ...untried, ...before, hasMoved: true, failed: new Set(['b', 'a']), failedServers: new Set(['b', 'a']) },
  })
  expect(stateAfter({ failure: refused, state: { hasMoved: true } }).hasMoved).toBe(true)
})
