import { describe, expect, test } from 'vitest'
import { answer, ask, knownEngine, never, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, streamOf } from '../../../test/support/upstream/upstream.ts'
import type { AffinityOutcome, AttemptEnd, AttemptStart } from '../../contract/attempts.ts'
import type { Engine } from '../../contract/engine.ts'
import type { GenerationRequest } from '../../contract/request.ts'

/** Says what of the prompt it had in its cache. */
const replying = (inputTokens: number, cachedTokens: number) => {
  const usage = { prompt_tokens: inputTokens, completion_tokens: 10, prompt_tokens_details: { cached_tokens: cachedTokens } }
  return streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), chatChunk({}, { choices: [], usage }), doneLine)
}

async function fleet(options: Parameters<typeof knownEngine>[1] = {}) {
  const servers = await Promise.all([upstream(replying(2000, 0)), upstream(replying(2000, 0)), upstream(replying(2000, 0))])
  const attempts: (AttemptStart & AttemptEnd)[] = []
  const observer = {
    attemptEnded: (start: AttemptStart, end: AttemptEnd) => void attempts.push({ ...start, ...end }),
    ejected: () => undefined,
  }
  const engine = await knownEngine(servers, { observer, affinity: {}, ...options })
  return { servers, engine, attempts }
}

const prompt = (text: string) => ask(`${text} ${'x'.repeat(8000)}`, { maxOutputTokens: 16 })

/** How the server of a request was chosen, and which one it was. */
async function place(engine: Engine, request: GenerationRequest) {
  const heard: AffinityOutcome[] = []
  const origin = { id: 'x', caller: 'key', ...request.origin, onPlaced: (affinity: AffinityOutcome) => void heard.push(affinity) }
  const prepared = await engine.prepare({ ...request, origin }, never)
  let servedBy: string | undefined
  await prepared.run(never, (event) => {
    if (event.type === 'usage') servedBy = event.servedBy
    return undefined
  })
  return { affinity: heard.at(-1), servedBy }
}

test('a prompt goes where it was read, and its caller and observers hear how its server was chosen', async () => {
  const { engine, attempts } = await fleet()
  const first = await place(engine, prompt('one'))
  const again = await place(engine, prompt('one'))
  const other = await place(engine, prompt('two'))
  expect([first.affinity, again.affinity, other.affinity]).toEqual(['home', 'known', 'home'])
  expect(again.servedBy).toBe(first.servedBy)
  expect(attempts.map(({ affinity }) => affinity)).toEqual(['home', 'known', 'home'])
})

test('what a caller calls its session or its cache key leads there, too, apart from what other callers call the same', async () => {
  const { engine } = await fleet()
  const session = (caller: string) => ({ origin: { id: 'x', caller, session: 's' } })
  const cacheKey = { forwarded: { promptCacheKey: 'k' } }
  const first = await place(engine, { ...prompt('one'), ...session('a') })
  expect(await place(engine, { ...prompt('two'), ...session('a') })).toEqual({ affinity: 'known', servedBy: first.servedBy })
  expect((await place(engine, { ...prompt('three'), ...session('b') })).affinity).toBe('home')
  const keyed = await place(engine, { ...prompt('four'), ...cacheKey })
  expect(await place(engine, { ...prompt('five'), ...cacheKey })).toEqual({ affinity: 'known', servedBy: keyed.servedBy })
})

test('a server that has lost a prompt twice is no longer known to have it', async () => {
  const { servers, engine } = await fleet()
  for (const server of servers) server.answer = replying(2000, 1900)
  await place(engine, prompt('one'))
  expect((await place(engine, prompt('one'))).affinity).toBe('known')
  for (const server of servers) server.answer = replying(2000, 0)
  expect((await place(engine, prompt('one'))).affinity).toBe('known')
  expect((await place(engine, prompt('one'))).affinity).toBe('known')
  expect((await place(engine, prompt('one'))).affinity).toBe('home')
})

test('the load of a server is what its requests are likely to cost, and not their limits', async () => {
  const { servers, engine } = await fleet()
  const loads = () => engine.capabilities.fleet?.replicas().map(({ outstandingTokens }) => outstandingTokens) ?? []
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const all = servers.map((server) => {
    const { answer } = server
    server.answer = async (request, response) => {
      await held
      await answer(request, response)
    }
    return server
  })
  await answerOf(engine, release, async () => {
    await expect.poll(() => all.filter(({ seen }) => seen.length > 0).length).toBe(1)
    // 8,000 bytes and the usual output, of 32,000 that are allowed.
    expect(Math.max(...loads())).toBeGreaterThan(2400)
    expect(Math.max(...loads())).toBeLessThan(2700)
  })
})

async function answerOf(engine: Engine, release: () => void, whileRunning: () => Promise<void>): Promise<void> {
  const running = answer(engine, ask('x'.repeat(8000), { maxOutputTokens: 32_000 }))
  try {
    await whileRunning()
  } finally {
    release()
  }
  await running
}

describe('without affinity', () => {
  test('`off` gives each request to the least loaded server, and says nothing of a choice', async () => {
    const { engine } = await fleet({ affinity: 'off' })
    const places = [await place(engine, prompt('one')), await place(engine, prompt('one')), await place(engine, prompt('one'))]
    expect(places.map(({ affinity }) => affinity)).toEqual([undefined, undefined, undefined])
    expect(new Set(places.map(({ servedBy }) => servedBy)).size).toBe(3)
  })

  test('a single server leaves no choice', async () => {
    const engine = await knownEngine([await upstream(replying(2000, 0))])
    expect((await place(engine, prompt('one'))).affinity).toBeUndefined()
  })
})

describe('the load of vLLM', () => {
  const asked = async (ownedBy: string) => {
    const servers = await Promise.all([1, 2].map(() => upstream(replying(20, 0), { ownedBy })))
    const engine = await knownEngine(servers, { affinity: {} })
    return { servers, engine }
  }

  test('is asked for with each request, and only there', async () => {
    for (const [ownedBy, format] of [
      ['vllm', 'TEXT'],
      ['sglang', undefined],
    ] as const) {
      const { servers, engine } = await asked(ownedBy)
      await answer(engine, ask('hi'))
      const { headers } = servers.flatMap(({ seen }) => seen)[0] ?? expect.unreachable('one of them was asked')
      expect(headers['endpoint-load-metrics-format']).toBe(format)
    }
  })

  test('sends requests elsewhere while the head of a reply says that others wait there', async () => {
    const { servers, engine } = await asked('vllm')
    for (const server of servers)
      server.answer = (request, response) => {
        response.setHeader('endpoint-load-metrics', 'TEXT named_metrics.num_requests_waiting=40.0')
        return replying(20, 0)(request, response)
      }
    await answer(engine, ask('one'))
    const busy = servers.findIndex(({ seen }) => seen.length === 1)
    for (const server of servers) server.answer = replying(20, 0)
    for (const text of ['two', 'three', 'four']) await answer(engine, ask(text))
    expect(servers[busy]?.seen).toHaveLength(1)
  })
})
