import { describe, expect, test } from 'vitest'
import { virtualFleet } from '../../../../../test/support/upstream/virtual-fleet.ts'
import { profileNames } from '../../servers/profile.ts'
import { profiles } from '../../servers/profiles.ts'
import { statusFailed } from '../../transport/failed-request.ts'
import { reportedError } from '../../transport/reported-error.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import { noProgress } from './try-replicas.ts'

const replyMs = 500
const failMs = 50

type Bad = { readonly error: () => UpstreamError; readonly hasText?: true; readonly attempts?: number }

const replyOf = (status: number, retryAfter?: string) => () =>
  statusFailed({ status, said: '{"error":{"message":"boom"}}', retryAfter, host: 'r' })
const event = (error: unknown) => () => reportedError(error)
const broken = () => new UpstreamError({ type: 'truncated' }, 'it broke')

const bad: Readonly<Record<string, Bad>> = {
  'status 500': { error: replyOf(500) },
  'status 502': { error: replyOf(502) },
  'status 504': { error: replyOf(504) },
  'status 408': { error: replyOf(408) },
  'status 400': { error: replyOf(400), attempts: 1 },
  'status 403': { error: replyOf(403), attempts: 4 },
  'status 503': { error: replyOf(503), attempts: 4 },
  'status 503 with Retry-After': { error: replyOf(503, '1'), attempts: 4 },
  'status 429': { error: replyOf(429), attempts: 4 },
  'an error object before the first text': { error: event({ message: 'boom' }) },
  'an error object after it': { error: event({ message: 'boom' }), hasText: true },
  'an error object that says it is overloaded, after the first text': {
    error: event({ type: 'overloaded_error' }),
    hasText: true,
  },
  'a stream that breaks before the first text': { error: broken },
  'a stream that breaks after it': { error: broken, hasText: true },
  'a connection that breaks': { error: () => new UpstreamError({ type: 'connection', isRefused: false }, 'it broke') },
  'something that is not a reply': { error: () => new UpstreamError({ type: 'malformed' }, 'odd') },
  'no finish reason': { error: () => new UpstreamError({ type: 'incomplete', saidDone: true }, 'odd') },
  "another Dragoman's invalid output": { error: event({ code: 'invalid_output', message: 'odd' }), attempts: 1 },
}

describe.each(profileNames)('one bad request a second at healthy servers of kind %s, for a minute', (kind) => {
  const canContinue = profiles[kind].continuation !== undefined
  test.each([1, 2].flatMap((count) => Object.entries(bad).map(([name, one]) => ({ count, name, one }))))(
    '$count of them, and $name: no good request fails or waits, and a bad one is tried twice at most',
    async ({ count, one: { error, hasText = false, attempts: most = 2 } }) => {
      const { time, send, reports } = virtualFleet(kind, count)
      const badAttempts: number[] = []
      const sendBad = async () => {
        let attempts = 0
        const attempt = async (_: string, confirm: () => void) => {
          attempts += 1
          if (hasText) confirm()
          await time.sleep(failMs)
          throw error()
        }
        const progress = { hasAdvanced: hasText, hasBegun: hasText, canContinue: hasText && canContinue }
        await send(attempt, () => progress).catch(() => undefined)
        badAttempts.push(attempts)
      }
      const goodMs: number[] = []
      const sendGood = async () => {
        const startMs = time.nowMs
        await send(
          async (_, confirm) => {
            confirm()
            await time.sleep(replyMs)
          },
          () => noProgress,
        ).then(
          () => goodMs.push(time.nowMs - startMs),
          () => goodMs.push(Number.POSITIVE_INFINITY),
        )
      }
      const every = async (ms: number, times: number, one: () => Promise<void>) => {
        for (let sent = 0; sent < times; sent++) {
          void one()
          await time.sleep(ms)
        }
      }
      void every(1000, 60, sendBad)
      void every(750, 80, sendGood)
      await time.runTo(75_000)
      expect(badAttempts).toHaveLength(60)
      expect(Math.max(...badAttempts)).toBeLessThanOrEqual(most)
      expect(goodMs).toHaveLength(80)
      expect(Math.max(...goodMs)).toBeLessThanOrEqual(2 * replyMs)
      // Half an hour later, one more bad request changes nothing for the next good one.
      time.nowMs += 1_800_000
      goodMs.length = 0
      void sendBad().then(sendGood)
      await time.runTo(time.nowMs + 10_000)
      expect(goodMs).toEqual([replyMs])
      expect(reports().every(({ activeRequests }) => activeRequests === 0)).toBe(true)
    },
  )
})

test('bad requests alone, without a good one between them, leave a single server to the next good one', async () => {
  for (const { error } of Object.values(bad)) {
    const { time, send } = virtualFleet('vllm', 1)
    for (let turn = 0; turn < 10; turn++) {
      const failing = async () => {
        throw error()
      }
      await Promise.all([send(failing, () => noProgress).catch(() => undefined), time.runTo(time.nowMs + 100_000)])
    }
    const startMs = time.nowMs
    const good = send(
      () => time.sleep(replyMs),
      () => noProgress,
    ).then(() => time.nowMs)
    await time.runTo(startMs + 20_000)
    expect(await good).toBe(startMs + replyMs)
  }
})

test('a server that fails what the other one answers is ejected, tried ever more rarely, and comes back', async () => {
  const { time, send, reports } = virtualFleet('vllm', 2)
  let isBroken = true
  let tried = 0
  const one = async () => {
    const attempt = async (id: string, confirm: () => void) => {
      if (id === 'r0') tried += 1
      if (id === 'r0' && isBroken) throw replyOf(500)()
      confirm()
      await time.sleep(replyMs)
    }
    await send(attempt, () => noProgress)
  }
  const load = async (times: number) => {
    for (let sent = 0; sent < times; sent++) {
      void one()
      await time.sleep(250)
    }
  }
  void load(240)
  await time.runTo(3000)
  expect(reports()[0]?.breaker).not.toBe('closed')
  tried = 0
  await time.runTo(60_000)
  // 228 requests, of which half would be its share.
  expect(tried).toBeLessThan(20)
  isBroken = false
  void load(200)
  await time.runTo(120_000)
  expect(reports().map(({ breaker }) => breaker)).toEqual(['closed', 'closed'])
})
