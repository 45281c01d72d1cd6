import { describe, expect, test } from 'vitest'
import { until } from '../../../../../test/support/http/app.ts'
import { textsOf } from '../../../../../test/support/parts.ts'
import { answer, ask, knownEngine, never, upstream } from '../../../../../test/support/upstream/remote-engine.ts'
import {
  type Answer,
  chatChunk,
  doneLine,
  openStream,
  type ScriptedUpstream,
  streamOf,
  usageChunk,
} from '../../../../../test/support/upstream/upstream.ts'
import type { AttemptEnd, EjectionReason } from '../../../../contract/attempts.ts'
import { AppError } from '../../../../contract/errors.ts'
import type { GenerationRequest } from '../../../../contract/request.ts'

const says = (text: string) =>
  streamOf(chatChunk({ delta: { content: text }, finish_reason: 'stop' }), usageChunk(3, 1), doneLine)

/** What a server does that passes its checks and generates nothing any more. */
const silent: readonly [string, Answer][] = [
  ['is silent', () => undefined],
  [
    'sends only heads',
    (_, response) => {
      openStream(response)
      response.flushHeaders()
    },
  ],
  [
    'stalls in the middle of its reply',
    (_, response) => {
      openStream(response)
      response.write(chatChunk({ delta: { content: 'one ' } }))
    },
  ],
]

/** Four servers that pass their checks, and two conversations of one that becomes silent as `fault` says. */
async function fleet(fault: Answer) {
  const servers = await Promise.all([1, 2, 3, 4].map(() => upstream(says('ok'), { ownedBy: 'vllm' })))
  let skippedMs = 0
  const ejected: EjectionReason[] = []
  const attempts: AttemptEnd[] = []
  const engine = await knownEngine(servers, {
    affinity: {},
    now: () => performance.now() + skippedMs,
    observer: { attemptEnded: (_, end) => void attempts.push(end), ejected: (_, reason) => void ejected.push(reason) },
  })
  const homes = new Map(servers.map((server) => [server, [] as GenerationRequest[]]))
  while (![...homes.values()].every((requests) => requests.length >= 2)) {
    const request = ask(`conversation ${attempts.length}`)
    const before = servers.map(({ seen }) => seen.length)
    await answer(engine, request)
    const [home] = servers.filter(({ seen }, index) => seen.length > (before[index] ?? 0))
    if (home !== undefined) homes.get(home)?.push(request)
  }
  const [wedged, known] = [...homes][0] ?? expect.unreachable('there are four servers')
  const conversations = known.slice(0, 2)
  const asked = wedged.seen.length
  wedged.answer = fault
  const skip = (ms: number) => {
    skippedMs += ms
  }
  /** Another conversation, on another server: the one that is silent has a request. */
  const other = () => answer(engine, ask(`other ${attempts.length}`))
  return {
    engine,
    conversations,
    wedged,
    asked,
    others: servers.filter((server) => server !== wedged),
    skip,
    other,
    ejected,
    attempts,
  }
}

type Fleet = Awaited<ReturnType<typeof fleet>>

type Stop = { readonly reason: AppError; readonly afterMs: number }

/** Tries until an answer: how many there were. Each is stopped `afterMs` after the server has it. */
async function triesOf({ engine, wedged, skip }: Fleet, request: GenerationRequest, { reason, afterMs }: Stop) {
  for (let tries = 1; tries <= 8; tries++) {
    const stopped = new AbortController()
    const seen = wedged.seen.length
    const reply = answer(engine, request, stopped.signal).then(textsOf, () => undefined)
    const isOver = await Promise.race([reply.then(() => true), until(() => wedged.seen.length > seen).then(() => false)])
    if (!isOver) {
      await onceReceived(wedged)
      skip(afterMs)
      stopped.abort(reason)
    }
    if ((await reply)?.join('') === 'ok') return tries
  }
  return undefined
}

/** Lets what a server sent arrive. */
async function onceReceived(_: ScriptedUpstream): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 600))
}

describe.each(silent)('a server that passes its checks and %s', (name, fault) => {
  test.each([
    ['the client gives up', new AppError('cancelled', 'gone'), 6000],
    ['the time limit of a first token is reached', new AppError('first-token-timeout', 'late'), 1000],
  ])('gets a conversation once: the second try is answered elsewhere, when %s', async (_, reason, afterMs) => {
    const all = await fleet(fault)
    expect(await triesOf(all, all.conversations[0] as GenerationRequest, { reason, afterMs })).toBe(2)
    const { code } = reason
    expect(all.attempts.at(-2)).toMatchObject(
      code === 'cancelled' ? { outcome: 'cancelled', error: 'cancelled' } : { outcome: 'failed', error: code },
    )
    expect(all.ejected).toEqual([])
  })

  test('loses a waiting request to another server while others give tokens, and is ejected after two', async () => {
    const all = await fleet(fault)
    const { engine, conversations, wedged, asked, others, skip, other, ejected, attempts } = all
    const [rest, whole] = name.startsWith('stalls') ? ['two', 'one two'] : ['ok', 'ok']
    for (const server of others) server.answer = says(rest)
    for (const [number, conversation] of conversations.entries()) {
      const reply = answer(engine, conversation)
      await until(() => wedged.seen.length === asked + number + 1)
      await onceReceived(wedged)
      skip(11_000)
      await other()
      expect(textsOf(await reply).join('')).toBe(whole)
      expect(ejected).toEqual(number === 0 ? [] : ['silent'])
    }
    expect(attempts.filter(({ error }) => error === 'silent').map(({ outcome }) => outcome)).toEqual(['failed', 'failed'])
    expect(engine.capabilities.fleet?.replicas().filter(({ state }) => state !== 'healthy')).toHaveLength(1)
    // It comes back by one request.
    wedged.answer = says('ok')
    skip(2000)
    await until(async () => {
      await answer(engine, ask(`back ${attempts.length}`), never)
      return engine.capabilities.fleet?.replicas().every(({ state }) => state === 'healthy') === true
    })
  })
})

test.each([
  ['stays where the metrics of its engine show that it works', true],
  ['moves, without another server that gives tokens, where they stand still', false],
])('a prompt that vLLM reads %s', async (_, works) => {
  let finish: () => void = () => undefined
  const { engine, conversations, wedged, asked, skip, other, ejected } = await fleet(
    (request, response) =>
      new Promise((resolve) => {
        finish = () => {
          void says('read')(request, response)
          resolve()
        }
      }),
  )
  let steps = 0
  wedged.get = (path, response) => {
    if (path === '/metrics') {
      if (works) steps += 1
      response.end(`# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{engine="0"} 0.${steps}\n`)
    }
    return path === '/metrics'
  }
  const reply = answer(engine, conversations[0] as GenerationRequest)
  await until(() => wedged.seen.length === asked + 1)
  for (let second = 0; second < 4; second++) {
    await onceReceived(wedged)
    if (works) await other()
    skip(4000)
  }
  await onceReceived(wedged)
  finish()
  expect(textsOf(await reply)).toEqual([works ? 'read' : 'ok'])
  expect(ejected).toEqual([])
})
