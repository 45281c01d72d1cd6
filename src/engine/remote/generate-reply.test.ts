import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/http/app.ts'
import { text, textsOf } from '../../../test/support/parts.ts'
import {
  answer,
  ask,
  engineOver,
  failure,
  fine,
  knownEngine,
  never,
  refusing,
  upstream,
} from '../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf, usageChunk } from '../../../test/support/upstream/upstream.ts'

describe('replicas of several kinds', () => {
  test.each([
    ['first', 0],
    ['last', 1],
  ])('what one of them cannot do is done by the other, also when that is %s', async (_, position) => {
    const able = await upstream(fine, { ownedBy: 'vllm' })
    const unable = await upstream(fine, { ownedBy: 'library' })
    const engine = await knownEngine(position === 0 ? [able, unable] : [unable, able])
    for (let turn = 0; turn < 4; turn++) {
      expect(textsOf(await answer(engine, ask(`hi ${turn}`, { sampling: { topK: 5 } })))).toEqual(['ok'])
    }
    expect(able.seen).toHaveLength(4)
    expect(unable.seen).toEqual([])
    expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ state: 'healthy' }, { state: 'healthy' }])
  })

  test('what none can do is refused by name', async () => {
    const servers = [await upstream(fine, { ownedBy: 'library' }), await upstream(fine)]
    const error = await failure(await knownEngine(servers), ask('hi', { sampling: { topK: 5 } }))
    expect(error).toMatchObject({ code: 'unsupported-field', at: ['sampling', 'topK'] })
    expect(servers.flatMap(({ seen }) => seen)).toEqual([])
  })

  test('a reply is continued by the one that can', async () => {
    const breaking: Answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chatChunk({ delta: { content: 'One ' } }), () => response.destroy())
    }
    const first = await upstream(breaking, { ownedBy: 'vllm' })
    const unable = await upstream(fine, { ownedBy: 'library' })
    const able = await upstream(
      streamOf(chatChunk({ delta: { content: 'two' }, finish_reason: 'stop' }), usageChunk(4, 4), doneLine),
      { ownedBy: 'vllm' },
    )
    const result = await answer(await knownEngine([first, unable, able]), ask('hi'))
    expect(textsOf(result)).toEqual(['One two'])
    expect(unable.seen).toEqual([])
  })

  test.each([
    ["others' servers", {}, 200, 'partial'],
    ['our own server', { isOwnServer: true }, 200, 'full'],
    ['our own server that does not show how its prompt ends', { isOwnServer: true }, 404, 'partial'],
  ] as const)(
    'a grammar that is sent to %s (%j, rendering: %i) enforces a schema as %s says, and the output is checked',
    async (_, options, status, structured) => {
      const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false }
      const request = ask('hi', { output: { type: 'json-schema', schema, strict: true } })
      const reply: Answer = (seen, response) => {
        if (seen.path !== '/apply-template') return fine(seen, response)
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ prompt: 'user: hi, assistant:' }))
        return undefined
      }
      const engine = await knownEngine([await upstream(reply, { ownedBy: 'llamacpp' })], options)
      expect(await engine.prepare(request, never)).toMatchObject({ structured, constraintIsSent: true })
    },
  )
})

describe('several replicas', () => {
  test('one whose probe hangs delays nothing', async () => {
    const silent = await upstream(fine)
    let isGivenUp = false
    silent.get = (_path, response) => {
      response.on('close', () => {
        isGivenUp = true
      })
      return true
    }
    const sound = await upstream(fine)
    const engine = engineOver([silent, sound])
    expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
    expect(isGivenUp).toBe(false)
  })

  test('a probe is shared by all waiting requests, and outlives the first', async () => {
    const server = await upstream(fine)
    let listed = 0
    let release: () => void = () => undefined
    server.get = (path, response) => {
      if (path !== '/v1/models') return false
      listed += 1
      release = () => response.end(JSON.stringify({ data: [{ id: 'up' }] }))
      return true
    }
    const engine = engineOver([server])
    const first = new AbortController()
    const leaving = answer(engine, ask('hi'), first.signal)
    leaving.catch(() => undefined)
    const staying = Array.from({ length: 20 }, () => answer(engine, ask('hi')))
    await until(() => listed === 1)
    first.abort(new Error('gone'))
    await expect(leaving).rejects.toThrow()
    release()
    for (const result of await Promise.all(staying)) expect(textsOf(result)).toEqual(['ok'])
    expect(listed).toBe(1)
  })

  test.each(['throws', 'rejects'])('no replica is blamed for a reader that %s, and nothing is retried', async (how) => {
    let asked = 0
    const server = await upstream((...args) => {
      asked += 1
      return fine(...args)
    })
    const engine = engineOver([server])
    const prepared = await engine.prepare(ask('hi'), never)
    const reason = new TypeError('the reader failed')
    const run = prepared.run(never, () => {
      if (how === 'throws') throw reason
      return Promise.reject(reason)
    })
    await expect(run).rejects.toBe(reason)
    expect(asked).toBe(1)
    expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ state: 'healthy', activeRequests: 0 }])
  })

  test('a stop sequence is found across the break of a reply, also when another kind continues it', async () => {
    const first = await upstream(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(chatChunk({ delta: { content: 'One E' } }), () => response.destroy())
      },
      { ownedBy: 'vllm' },
    )
    const second = await upstream(
      streamOf(
        chatChunk({ delta: { content: 'ND two' } }),
        chatChunk({ delta: {}, finish_reason: 'stop' }),
        usageChunk(4, 4),
        doneLine,
      ),
      { ownedBy: 'llamacpp' },
    )
    const { choices } = await answer(await knownEngine([first, second]), ask('hi', { stop: ['END'] }))
    expect(choices[0]).toMatchObject({ parts: [text('One ')], finish: { reason: 'stop', stopSequence: 'END' } })
  })

  /** A server that reports usage and then breaks the connection. */
  const breaksOffCounted = () =>
    upstream(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const usage = { prompt_tokens: 9, completion_tokens: 5 }
        response.write(chatChunk({ delta: { content: 'One ' } }, { usage }), () => response.destroy())
      },
      { ownedBy: 'vllm' },
    )

  test('usage from before a break counts, also when the next replica reports none', async () => {
    const first = await breaksOffCounted()
    const second = await upstream(streamOf(chatChunk({ delta: { content: 'two' }, finish_reason: 'stop' }), doneLine), {
      ownedBy: 'vllm',
    })
    const result = await answer(await knownEngine([first, second]), ask('hi'))
    expect(textsOf(result)).toEqual(['One two'])
    expect(result.usage).toMatchObject({ inputTokens: 9, outputTokens: 6 })
  })

  test.each([
    ['an error object', 'data: {"error":{"message":"boom","code":500}}\n\n'],
    ['an error that blames the request', 'data: {"error":{"message":"boom","code":400}}\n\n'],
    ['invalid JSON', 'data: {"choi\n\n'],
    ['JSON that is not an object', 'data: 7\n\n'],
  ])('a reply with a finish reason is complete, also with %s after it', async (_, rest) => {
    const server = await upstream(streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), rest))
    const { choices } = await answer(engineOver([server]), ask('hi'))
    expect(choices[0]).toMatchObject({ parts: [text('ok')], finish: { reason: 'stop' } })
    expect(server.seen).toHaveLength(1)
  })

  test("a refused continuation is not the client's fault", async () => {
    const first = await upstream(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(chatChunk({ delta: { content: 'One' } }), () => response.destroy())
      },
      { ownedBy: 'vllm' },
    )
    const second = await upstream(refusing(400, '{"error":{"message":"prefill is incompatible with thinking"}}'), {
      ownedBy: 'vllm',
    })
    expect(await failure(await knownEngine([first, second]))).toMatchObject({ code: 'upstream-failed' })
  })

  test('parallel choices have seeds of their own, and one failure ends all', async () => {
    const silent: { closed: boolean }[] = []
    const server = await upstream(
      ({ body }, response) => {
        if (body.seed === 8) return refusing(400, '{"error":{"message":"not this one"}}')({} as never, response)
        const one = { closed: false }
        silent.push(one)
        response.once('close', () => {
          one.closed = true
        })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.flushHeaders()
      },
      { ownedBy: 'llamacpp' },
    )
    const error = await failure(engineOver([server]), ask('hi', { choices: 3, sampling: { seed: 7 } }))
    expect(error).toMatchObject({ code: 'invalid-request', message: 'not this one' })
    await until(() => silent.every(({ closed }) => closed), 1000)
    expect(server.seen.map(({ body }) => body.seed).toSorted()).toEqual(expect.arrayContaining([7, 8]))
  })

  test('usage from before a break counts, also when the next continuation fails immediately', async () => {
    const first = await breaksOffCounted()
    const second = await upstream(refusing(503, 'boom'), { ownedBy: 'vllm' })
    const third = await upstream(
      streamOf(chatChunk({ delta: { content: 'two' }, finish_reason: 'stop' }), usageChunk(30, 1), doneLine),
      { ownedBy: 'vllm' },
    )
    const engine = await knownEngine([first, second, third])
    expect((await answer(engine, ask('hi'))).usage).toMatchObject({ inputTokens: 9, outputTokens: 6 })
  })

  test('embeddings are retried on another replica', async () => {
    const gone = await upstream(fine)
    const sound = await upstream(refusing(200, '{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":1}}'))
    const engine = engineOver([gone, sound])
    await engine.ensureReady(never)
    await gone.close()
    for (let turn = 0; turn < 3; turn++) {
      const { vectors } = (await engine.capabilities.embedder?.embed([{ type: 'text', text: 'hi' }], never)) ?? { vectors: [] }
      expect([...(vectors[0] ?? [])]).toEqual([1, 2])
    }
  })
})
