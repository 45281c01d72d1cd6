import { expect, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import {
  answer,
  ask,
  closedAfterwards,
  engineOver,
  fine,
  never,
  upstream as startUpstream,
} from '../../../../test/support/upstream/remote-engine.ts'
import type { ScriptedUpstream } from '../../../../test/support/upstream/upstream.ts'
import { UpstreamClient } from '../transport/client.ts'
import { probeAbilities } from './abilities.ts'

type Body = Record<string, unknown>

/** A server that refuses the fields in `refused`, ignores those in `ignored` and honours all others. */
async function server(refused: readonly string[], ignored: readonly string[] = []): Promise<ScriptedUpstream> {
  const started = await startUpstream(({ body }, response) => {
    const bad = refused.find((field) => field in body)
    const asks = (field: string) => field in body && !ignored.includes(field)
    if (bad !== undefined) {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: `${bad} is not known` } }))
      return
    }
    if (body.stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const usage = asks('stream_options') ? { usage: { prompt_tokens: 1, completion_tokens: 1 } } : {}
      response.end(`data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }], ...usage })}\n\ndata: [DONE]\n\n`)
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ choices: Array.from({ length: asks('n') ? Number(body.n) : 1 }, () => choiceFor(asks)) }))
  })
  return started
}

function choiceFor(asks: (field: string) => boolean): Body {
  const calls = asks('tools') ? { tool_calls: [{ id: 'a', function: { name: 'probe', arguments: '{"a":1}' } }] } : {}
  const message = { role: 'assistant', content: asks('response_format') ? '{"a": 1}' : 'Hello.', ...calls }
  const logprobs = asks('logprobs') ? { logprobs: { content: [{ token: 'H', logprob: -1, top_logprobs: [] }] } } : {}
  return { message, finish_reason: 'stop', ...logprobs }
}

async function probe(upstream: ScriptedUpstream) {
  const client = closedAfterwards(new UpstreamClient({ connections: 2 }))
  const endpoint = { id: 'a', url: upstream.url, weight: 1 }
  return probeAbilities({ client, endpoint, model: 'up', signal: never })
}

test('abilities are observed', async () => {
  expect(await probe(await server([]))).toEqual({
    choices: true,
    logprobs: true,
    jsonSchema: true,
    toolChoice: 'no-names',
    usageInStreams: true,
  })
})

test.each([
  ['refuses', ['n', 'logprobs', 'response_format', 'tools', 'stream_options'], []],
  ['ignores', [], ['n', 'logprobs', 'response_format', 'tools', 'stream_options']],
])('a server that %s a field cannot do it', async (_, refused, ignored) => {
  const seen = await probe(await server(refused, ignored))
  expect(seen).toEqual({
    choices: false,
    logprobs: false,
    jsonSchema: false,
    toolChoice: 'none',
    usageInStreams: false,
  })
})

test('a server that knows only max_completion_tokens is probed with that', async () => {
  expect(await probe(await server(['max_tokens']))).toEqual({
    choices: true,
    logprobs: true,
    jsonSchema: true,
    toolChoice: 'no-names',
    usageInStreams: true,
  })
})

test('a server that refuses the plain request leaves all abilities open', async () => {
  const upstream = await server(['temperature'])
  expect(await probe(upstream)).toEqual({})
  expect(upstream.seen).toHaveLength(2)
})

test('a reply that reached the limit before its content leaves the ability open', async () => {
  const upstream = await startUpstream(({ body }, response) => {
    const count = Number(body.n ?? 1)
    const choice = { message: { role: 'assistant', content: '' }, finish_reason: 'length' }
    response.end(JSON.stringify({ choices: Array.from({ length: count }, () => choice) }))
  })
  expect(await probe(upstream)).toEqual({ choices: true, usageInStreams: false })
})

test('a server that fails leaves all abilities open', async () => {
  const upstream = await startUpstream((_, response) => {
    response.writeHead(500)
    response.end()
  })
  expect(await probe(upstream)).toEqual({})
})

test.each(['vllm', 'sglang', 'llamacpp', 'library', 'dragoman'])('a server owned by %s is not probed', async (ownedBy) => {
  const upstream = await startUpstream(fine, { ownedBy })
  const engine = engineOver([upstream], { probesAbilities: true })
  await answer(engine, ask('hi'))
  expect(upstream.seen).toHaveLength(1)
})

test('an engine reports what was observed, and makes up for what is missing', async () => {
  const upstream = await server(['n'])
  const engine = engineOver([upstream], { probesAbilities: true })
  await engine.ensureReady(never)
  await expect.poll(() => engine.capabilities.fleet?.replicas()[0]?.found?.abilities.choices).toBe(false)
  expect(engine.capabilities.fleet?.replicas()[0]?.found?.abilities).toMatchObject({
    logprobs: true,
    json_schema: true,
    tool_choice: true,
    usage_in_streams: true,
  })
})

test('the name of the output limit is the one that the server keeps', async () => {
  expect(await probe(await server(['max_completion_tokens']))).toMatchObject({ maxTokens: 'max_tokens', choices: true })
  const old = await startUpstream(({ body }, response) => {
    const completion = typeof body.max_tokens === 'number' ? body.max_tokens : 8
    response.writeHead(200, { 'content-type': 'application/json' })
    const usage = { prompt_tokens: 1, completion_tokens: completion }
    response.end(JSON.stringify({ choices: [{ message: { content: 'Hello.' }, finish_reason: 'stop' }], usage }))
  })
  expect(await probe(old)).toMatchObject({ maxTokens: 'max_tokens' })
  const engine = engineOver([old], { probesAbilities: true })
  await until(async () => {
    await answer(engine, ask('hi', { maxOutputTokens: 3 }))
    return old.seen.at(-1)?.body.max_tokens === 3
  })
})

test('a server that keeps no limit is asked under the usual name', async () => {
  const endless = await startUpstream((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const usage = { prompt_tokens: 1, completion_tokens: 8 }
    response.end(JSON.stringify({ choices: [{ message: { content: 'Hello.' }, finish_reason: 'stop' }], usage }))
  })
  expect(await probe(endless)).not.toHaveProperty('maxTokens')
})
