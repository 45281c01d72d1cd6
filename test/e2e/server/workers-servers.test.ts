import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { seatsOf, startWorkers } from '../../support/process/serve-workers.ts'

beforeAll(buildProgram)

test('one of two processes counts what a server has to do for the other, too: who drains it waits for all', async () => {
  let asked = 0
  const upstream = createServer(({ method }, reply) => {
    if (method === 'POST') asked += 1
    else reply.end('{"data":[]}')
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const host = `127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const server = await startWorkers({
    models: [{ id: 'm', engine: 'remote', endpoints: [{ url: `http://${host}/v1` }], server: 'openai', probe: false, slots: 8 }],
  })
  onTestFinished(async () => {
    upstream.closeAllConnections()
    upstream.close()
    await server.stop()
  })
  const [here, there] = await seatsOf(server)
  const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 }
  void here.post('/v1/chat/completions', chat).catch(() => undefined)
  await until(() => asked === 1)
  expect(JSON.parse((await there.get('/v1/models/m')).text).servers).toMatchObject([{ host, active_requests: 1 }])
  const drained = await there.post('/api/inference/replicas/drain', { model: 'm', url: host })
  expect(JSON.parse(drained.text).servers).toEqual([{ host, active_requests: 1 }])
})
