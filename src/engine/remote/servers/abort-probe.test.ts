import { expect, test } from 'vitest'
import { closedAfterwards, engineOver, never, upstream as startUpstream } from '../../../../test/support/remote-engine.ts'
import { chatChunk, doneLine, openStream, type ScriptedUpstream } from '../../../../test/support/upstream.ts'
import { UpstreamClient } from '../transport/client.ts'
import { type AbortQuestion, probeAbort } from './abort-probe.ts'

type Server = ScriptedUpstream & {
  /** What it says that it has, beside what it has. */
  others: number
}

/** A server whose streams go on until their clients leave; `notices`: and that stops working on them then. */
async function server({ notices = true, page = vllmPage, others = 0, isShort = false } = {}): Promise<Server> {
  let running = 0
  const upstream = await startUpstream(({ body }, response) => {
    openStream(response)
    if (body.ignore_eos !== true) return void response.end(chatChunk({ delta: {}, finish_reason: 'stop' }) + doneLine)
    running += 1
    response.write(chatChunk({ delta: { content: '1' } }))
    if (isShort) {
      running -= 1
      response.end(chatChunk({ delta: {}, finish_reason: 'stop' }) + doneLine)
    }
    response.once('close', () => {
      if (notices && !isShort) running -= 1
    })
  })
  const made = Object.assign(upstream, { others })
  upstream.get = (path, response) => {
    const text = page(path, running + made.others)
    if (text !== undefined) response.end(text)
    return text !== undefined
  }
  return made
}

function vllmPage(path: string, running: number): string | undefined {
  return path === '/metrics' ? `vllm:num_requests_running{model_name="up"} ${running}.0\n` : undefined
}

function slotsPage(path: string, running: number): string | undefined {
  return path === '/slots' ? JSON.stringify([{ is_processing: running > 0 }, { is_processing: running > 1 }]) : undefined
}

function latePage(path: string, running: number): string | undefined {
  return path === '/metrics' ? `sglang:num_running_reqs ${running}\n` : undefined
}

function probe(upstream: ScriptedUpstream, options: Partial<AbortQuestion> = {}): Promise<boolean | undefined> {
  const client = closedAfterwards(new UpstreamClient({ connections: 2 }))
  const endpoint = { id: 'a', url: upstream.url, weight: 1 }
  return probeAbort({ client, endpoint, model: 'up', signal: never, isIdle: () => true, withinMs: 200, ...options })
}

test.each([
  ['metrics', vllmPage],
  ['slots', slotsPage],
])('a server that stops when the connection is closed is seen to, by its %s', async (_, page) => {
  const upstream = await server({ page })
  expect(await probe(upstream)).toBe(true)
  expect(upstream.seen).toHaveLength(1)
  expect(upstream.hangUps()).toBe(1)
})

test.each([
  ['metrics', vllmPage],
  ['slots', slotsPage],
])('one that goes on is seen to, by its %s', async (_, page) => {
  expect(await probe(await server({ notices: false, page }))).toBe(false)
})

test('numbers that are late prove an end, and nothing else', async () => {
  expect(await probe(await server({ page: latePage }))).toBe(true)
  expect(await probe(await server({ page: latePage, notices: false }))).toBeUndefined()
})

test.each([
  ['has no such page', { page: () => undefined }, {}],
  ['works for somebody else', { others: 1 }, {}],
  ['works for us', {}, { isIdle: () => false }],
])('a server that %s is not asked to generate', async (_, script, options) => {
  const upstream = await server(script)
  expect(await probe(upstream, options)).toBeUndefined()
  expect(upstream.seen).toEqual([])
})

test('nothing is said when the answer was over by itself', async () => {
  expect(await probe(await server({ isShort: true }))).toBeUndefined()
})

test('nothing is said when somebody else came meanwhile', async () => {
  const upstream = await server({ notices: false })
  const { answer } = upstream
  upstream.answer = (request, response) => {
    response.once('close', () => {
      upstream.others += 1
    })
    return answer(request, response)
  }
  expect(await probe(upstream)).toBeUndefined()
})

test('a signal ends it at once, and leaves no connection that carries an answer', async () => {
  const upstream = await server()
  const controller = new AbortController()
  const { answer } = upstream
  upstream.answer = (request, response) => {
    queueMicrotask(() => controller.abort(new Error('closed')))
    return answer(request, response)
  }
  await expect(probe(upstream, { signal: controller.signal })).rejects.toThrow('closed')
  await expect.poll(() => upstream.hangUps()).toBe(1)
})

test('an engine shows what was seen of a server whose kind leaves it open', async () => {
  const upstream = await server()
  const engine = engineOver([upstream], { probesAbilities: true })
  await engine.ensureReady(never)
  expect(engine.servers?.()[0]?.found?.abilities).not.toHaveProperty('abort_frees_slot')
  await expect.poll(() => engine.servers?.()[0]?.found?.abilities.abort_frees_slot, { timeout: 5000 }).toBe(true)
})
