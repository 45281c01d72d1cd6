import { expect, test } from 'vitest'
import {
  answer,
  ask,
  closedAfterwards,
  engineOver,
  fine,
  never,
  upstream as startUpstream,
} from '../../../../test/support/remote-engine.ts'
import type { ScriptedUpstream } from '../../../../test/support/upstream.ts'
import { UpstreamClient } from '../transport/client.ts'
import { probeAbilities } from './abilities.ts'

type Body = Record<string, unknown>

/** A server that refuses the fields in `unknown`, and otherwise does what it is asked for, or, for those in `deaf`, nothing of it. */
async function server(unknown: readonly string[], deaf: readonly string[] = []): Promise<ScriptedUpstream> {
  const started = await startUpstream(({ body }, response) => {
    const refused = unknown.find((field) => field in body)
    const asks = (field: string) => field in body && !deaf.includes(field)
    if (refused !== undefined) {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: `${refused} is not known` } }))
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

test('what a server does is seen', async () => {
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
])('what a server %s it cannot do', async (_, unknown, deaf) => {
  const seen = await probe(await server(unknown, deaf))
  expect(seen).toEqual({
    choices: false,
    logprobs: false,
    jsonSchema: false,
    toolChoice: 'none',
    usageInStreams: false,
  })
})

test('a server that takes no max_tokens is asked in the words that it takes', async () => {
  expect(await probe(await server(['max_tokens']))).toEqual({
    choices: true,
    logprobs: true,
    jsonSchema: true,
    toolChoice: 'no-names',
    usageInStreams: true,
  })
})

test('a server that refuses the question itself leaves the questions open', async () => {
  const upstream = await server(['temperature'])
  expect(await probe(upstream)).toEqual({})
  expect(upstream.seen).toHaveLength(1)
})

test('an answer that reached its limit before it began leaves open what it would have shown', async () => {
  const upstream = await startUpstream(({ body }, response) => {
    const count = Number(body.n ?? 1)
    const choice = { message: { role: 'assistant', content: '' }, finish_reason: 'length' }
    response.end(JSON.stringify({ choices: Array.from({ length: count }, () => choice) }))
  })
  expect(await probe(upstream)).toEqual({ choices: true, usageInStreams: false })
})

test('a server that fails leaves the questions open', async () => {
  const upstream = await startUpstream((_, response) => {
    response.writeHead(500)
    response.end()
  })
  expect(await probe(upstream)).toEqual({})
})

test.each(['vllm', 'sglang', 'llamacpp', 'library', 'dragoman'])('a server of %s is not probed', async (ownedBy) => {
  const upstream = await startUpstream(fine, { ownedBy })
  const engine = engineOver([upstream], { probesAbilities: true })
  await answer(engine, ask('hi'))
  expect(upstream.seen).toHaveLength(1)
})

test('an engine shows what was seen, and makes up for what is lacking', async () => {
  const upstream = await server(['n'])
  const engine = engineOver([upstream], { probesAbilities: true })
  await engine.ensureReady(never)
  await expect.poll(() => engine.servers?.()[0]?.found?.abilities.choices).toBe(false)
  expect(engine.servers?.()[0]?.found?.abilities).toMatchObject({
    logprobs: true,
    json_schema: true,
    tool_choice: true,
    usage_in_streams: true,
  })
})
