import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import { iterate } from '../../../../test/support/http/iterate.ts'
import { textsOf } from '../../../../test/support/parts.ts'
import {
  answer,
  ask,
  closedAfterwards,
  engineOver,
  fine,
  never,
  upstream,
} from '../../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine } from '../../../../test/support/upstream/upstream.ts'
import { rootOf } from '../../../base/text/server-url.ts'
import { UpstreamClient } from './client.ts'
import { readStream } from './read-reply.ts'

test('an address follows what its server turns out to be', async () => {
  const server = await upstream((_, response) => void response.end('{}'))
  const client = closedAfterwards(new UpstreamClient({ connections: 1 }))
  const endpoint = { id: 'a', url: rootOf(server.url), weight: 1 }
  const call = { method: 'POST', path: '/completions', body: {}, headers: {} } as const
  for (const below of [undefined, '/v1', undefined]) await client.work(endpoint, { ...call, below }, never)
  expect(server.seen.map(({ path }) => path)).toEqual(['/completions', '/v1/completions', '/completions'])
})

describe('nothing is left behind', () => {
  test('one connection serves one stream after the other, and no listener stays on a signal', async () => {
    const server = await upstream(fine)
    const engine = engineOver([server])
    const { signal } = new AbortController()
    await answer(engine, ask('hi'), signal)
    const before = server.accepted()
    for (let turn = 0; turn < 20; turn++) await answer(engine, ask('hi'), signal)
    expect(server.accepted() - before).toBeLessThanOrEqual(1)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ activeRequests: 0, outstandingTokens: 0 }])
  })

  test('a reply that does not end after [DONE] delays nothing and keeps no connection', async () => {
    const server = await upstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }) + doneLine)
    })
    const engine = engineOver([server])
    expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
    await until(() => server.hangUps() === 1, 3000)
  })

  test('side requests do not wait for generations', async () => {
    const server = await upstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chatChunk({ delta: { content: 'o' } }))
    })
    const client = closedAfterwards(new UpstreamClient({ connections: 1 }))
    const endpoint = { id: 'a', url: server.url, weight: 1 }
    const call = { method: 'POST', path: '/chat/completions', body: {} } as const
    const stream = iterate((emit) =>
      client.stream(endpoint, call, never).then(async ({ body }) => void (await readStream(body, emit))),
    )
    await stream.next()
    await expect(client.ask(endpoint, { method: 'GET', path: '/models' }, never)).resolves.toMatchObject({ object: 'list' })
    await stream.return()
    await until(() => server.hangUps() === 1)
  })
})
