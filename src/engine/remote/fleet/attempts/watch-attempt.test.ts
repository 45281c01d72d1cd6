import { expect, test } from 'vitest'
import type { AttemptEnd, AttemptStart, EjectionReason } from '../../../../contract/attempts.ts'
import { AppError } from '../../../../contract/errors.ts'
import { profiles } from '../../servers/profiles.ts'
import { UpstreamError, type UpstreamFailure } from '../../transport/upstream-error.ts'
import type { AcquiredReplica } from '../acquired-replica.ts'
import { Pool, type RequestOutcome } from '../pool.ts'
import { noProgress, type ReplicaTask, tryReplicas } from './try-replicas.ts'
import { replyFacts } from './watch-attempt.ts'

const usage = { inputTokens: 20, cachedInputTokens: 12, outputTokens: 5, reasoningTokens: 0 }
const facts = replyFacts([
  { type: 'finish', choice: 0, reason: 'stop' },
  { type: 'usage', usage, timings: {} },
])

/** Runs a task whose attempts are `steps` on servers a and b in turn, and returns what an observer heard. A tick of the clock is 10 ms. */
async function observe(steps: readonly ((replica: AcquiredReplica) => void)[], options: Partial<ReplicaTask<string>> = {}) {
  const heard: (AttemptStart & AttemptEnd)[] = []
  const left = [...steps]
  let turn = 0
  let nowMs = 0
  const acquire = (): AcquiredReplica => ({
    endpoint: { id: 'x', url: `http://${turn++ % 2 === 0 ? 'a' : 'b'}:8000/secret/v1`, weight: 1 },
    upstream: { profile: profiles.vllm, model: 'served-name' },
    confirm: () => undefined,
    release: () => undefined,
    learn: () => undefined,
    cachedTokens: 0,
    leave: () => undefined,
    reportLoad: () => undefined,
    blame: () => undefined,
  })
  const deps = {
    replicas: {
      count: 2,
      acquire,
      hasKnown: () => true,
      isUsable: () => true,
      hasUsable: () => true,
      pause: async () => undefined,
      throwIfClosed: () => undefined,
    },
    now: () => (nowMs += 10),
    random: () => 0.5,
    observer: {
      attemptEnded: (start: AttemptStart, end: AttemptEnd) => void heard.push({ ...start, ...end }),
      ejected: () => undefined,
    },
  }
  const task: ReplicaTask<string> = {
    tokens: 1,
    affinityKeys: [],
    isAuxiliary: false,
    signal: new AbortController().signal,
    attempt: async (replica) => {
      left.shift()?.(replica)
      return { type: 'answered', value: 'ok', facts }
    },
    progress: () => noProgress,
    ...options,
  }
  await tryReplicas(deps, task).catch(() => undefined)
  return heard
}

const fails = (failure: UpstreamFailure) => () => {
  throw new UpstreamError(failure, 'a text of the server')
}

test('an attempt says where it went, when its reply began and what it cost', async () => {
  const begins = (replica: AcquiredReplica) => {
    replica.confirm()
    replica.confirm()
  }
  expect(await observe([begins])).toEqual([
    {
      server: 'a:8000',
      kind: 'vllm',
      model: 'served-name',
      retry: 0,
      outcome: 'ok',
      firstChunkMs: expect.any(Number),
      finishReasons: ['stop'],
      usage,
    },
  ])
})

test('repetitions are counted, and only a word says how one failed', async () => {
  const heard = await observe([fails({ type: 'truncated' }), () => undefined])
  expect(heard.map(({ server, retry, outcome, error }) => [server, retry, outcome, error])).toEqual([
    ['a:8000', 0, 'failed', 'truncated'],
    ['b:8000', 1, 'ok', undefined],
  ])
  expect(JSON.stringify(heard)).not.toMatch(/a text of the server|secret/)
})

test.each<[UpstreamFailure, string, string]>([
  [{ type: 'status', status: 503, retryAfterMs: 90_000 }, 'busy', '503'],
  [{ type: 'status', status: 400 }, 'refused', '400'],
  [{ type: 'connection', isRefused: true }, 'failed', 'connection'],
])('%j is %s, %s', async (failure, outcome, error) => {
  expect((await observe(Array(4).fill(fails(failure))))[0]).toMatchObject({ outcome, error })
})

test('what was not sent, and what does not generate, is not an attempt', async () => {
  const unable = () => {
    throw new AppError('unsupported-field', 'it cannot')
  }
  expect((await observe([unable, () => undefined])).map(({ server, retry }) => [server, retry])).toEqual([['b:8000', 0]])
  expect(await observe([() => undefined], { isAuxiliary: true })).toEqual([])
})

test('a cancelled attempt says so', async () => {
  const cancel = new AbortController()
  const stop = () => {
    cancel.abort(new AppError('cancelled', 'no longer wanted'))
    throw cancel.signal.reason
  }
  expect((await observe([stop], { signal: cancel.signal }))[0]).toMatchObject({ outcome: 'cancelled', error: 'cancelled' })
})

test.each(['first-token-timeout', 'stall-timeout'] as const)(
  'one that a server did not answer in time has failed: %s',
  async (code) => {
    const limit = new AbortController()
    const stop = () => {
      limit.abort(new AppError(code, 'late'))
      throw limit.signal.reason
    }
    expect((await observe([stop], { signal: limit.signal }))[0]).toMatchObject({ outcome: 'failed', error: code })
  },
)

test.each<[EjectionReason, RequestOutcome]>([
  ['unreachable', { type: 'failed', reason: 'refused', isRefused: true }],
  ['failures', { type: 'failed', reason: 'status 500' }],
])('a server that gets no more requests is reported once: %s', (reason, outcome) => {
  const ejected: string[] = []
  const pool = new Pool([{ id: 'a', weight: 1 }], {
    breaker: { random: () => 1 },
    onEjected: ({ id }, why) => void ejected.push(`${id} ${why}`),
  })
  for (let nowMs = 0; nowMs < 20_000; nowMs += 1000) {
    const lease = pool.acquire({ nowMs, tokens: 1, affinityKeys: [] })
    if (lease.type === 'lease') lease.release(outcome, nowMs)
  }
  expect(ejected).toEqual([`a ${reason}`])
})

test('health checks that fail eject a server, too', () => {
  const ejected: string[] = []
  const pool = new Pool([{ id: 'a', weight: 1 }], {
    breaker: { random: () => 1 },
    onEjected: (_, why) => void ejected.push(why),
  })
  for (let count = 0; count < 5; count++) pool.reportCheck('a', false, count)
  expect(ejected).toEqual(['health-check'])
})
