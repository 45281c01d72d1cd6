import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/app.ts'
import { answer, ask, engineOver, failure, fine, never, refusing, upstream } from '../../../test/support/remote-engine.ts'
import { chatChunk, doneLine, streamOf, usageChunk } from '../../../test/support/upstream.ts'

describe('several servers', () => {
  test('one that never says what it is holds nobody up', async () => {
    const silent = await upstream(fine)
    silent.get = () => true
    const sound = await upstream(fine)
    const engine = engineOver([silent, sound])
    const startMs = performance.now()
    expect((await answer(engine, ask('hi'))).choices[0]?.text).toBe('ok')
    expect(performance.now() - startMs).toBeLessThan(2000)
  })

  test('they are asked what they are once, also by many at once, and by those that stay when the first leaves', async () => {
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
    for (const { choices } of await Promise.all(staying)) expect(choices[0]?.text).toBe('ok')
    expect(listed).toBe(1)
  })

  test.each(['throws', 'rejects'])('no server is blamed for a reader that %s, and none is asked again', async (how) => {
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
    expect(engine.servers?.()).toMatchObject([{ state: 'well', activeRequests: 0 }])
  })

  test('a stop text is found across the break of an answer, also where another kind of server goes on', async () => {
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
    const { choices } = await answer(engineOver([first, second]), ask('hi', { stop: ['END'] }))
    expect(choices[0]).toMatchObject({ text: 'One ', finish: { reason: 'stop', stopSequence: 'END' } })
  })

  test('what was counted before an answer broke off counts, also where the other one counts nothing', async () => {
    const first = await upstream(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const usage = { prompt_tokens: 9, completion_tokens: 5 }
        response.write(chatChunk({ delta: { content: 'One ' } }, { usage }), () => response.destroy())
      },
      { ownedBy: 'vllm' },
    )
    const second = await upstream(streamOf(chatChunk({ delta: { content: 'two' }, finish_reason: 'stop' }), doneLine), {
      ownedBy: 'vllm',
    })
    const { choices, usage } = await answer(engineOver([first, second]), ask('hi'))
    expect(choices[0]?.text).toBe('One two')
    expect(usage).toMatchObject({ inputTokens: 9, outputTokens: 6 })
  })

  test('what goes on with an answer and refuses to is not the fault of the caller', async () => {
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
    expect(await failure(engineOver([first, second]))).toMatchObject({ code: 'engine-failed' })
  })

  test('choices come one at a time from a server that makes one, with seeds of their own, and one failure ends all', async () => {
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

  test('embeddings are had from another one when the first is gone', async () => {
    const gone = await upstream(fine)
    const sound = await upstream(refusing(200, '{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":1}}'))
    const engine = engineOver([gone, sound])
    await engine.ensureReady(never)
    await gone.close()
    for (let turn = 0; turn < 3; turn++) {
      const { vectors } = (await engine.embed?.([{ type: 'text', text: 'hi' }], never)) ?? { vectors: [] }
      expect([...(vectors[0] ?? [])]).toEqual([1, 2])
    }
  })
})
