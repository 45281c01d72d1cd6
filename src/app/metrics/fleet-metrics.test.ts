import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp, until } from '../../../test/support/http/app.ts'

/** An address at which nothing listens any more. */
async function deadUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`
}

test('GET /metrics shows which server of a model is ill, and what named it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-fleet-'))
  const engine = await startApp({ builtinModel: false, models: [{ engine: 'fake', id: 'scripted', script: 'from-request' }] })
  const dead = await deadUrl()
  await writeFile(join(folder, 'endpoints.yaml'), `- url: ${engine.url}/v1\n`)
  const gateway = await startApp({
    builtinModel: false,
    models: [
      {
        engine: 'remote',
        id: 'fleet',
        server: 'dragoman',
        upstreamModel: 'scripted',
        load: 'start',
        endpoints: [{ url: dead }, { file: join(folder, 'endpoints.yaml') }],
      },
    ],
  })
  try {
    const body = JSON.stringify({ model: 'fleet', messages: [{ role: 'user', content: 'Hello' }] })
    for (let count = 0; count < 3; count++) {
      const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      expect(reply.status).toBe(200)
    }
    const [good, bad] = [new URL(engine.url).host, new URL(dead).host]
    const of = (server: string) => `model="fleet",server="${server}"`
    expect(await gateway.metric(`dragoman_replica_requests_total{${of(good)},outcome="ok"}`)).toBe(3)
    expect(await gateway.metric(`dragoman_replica_state{${of(good)},state="healthy"}`)).toBe(1)
    await until(async () => (await gateway.metric(`dragoman_replica_state{${of(bad)},state="healthy"}`)) === 0)
    expect(await gateway.metric(`dragoman_replica_ejections_total{${of(bad)},reason="health-check"}`)).toBe(1)
    expect(await gateway.metric(`dragoman_replica_ttft_seconds_count{${of(good)}}`)).toBe(3)
    expect(await gateway.metric('dragoman_endpoints{model="fleet",source="config"}')).toBe(1)
    expect(await gateway.metric('dragoman_endpoints{model="fleet",source="file"}')).toBe(1)
    expect(await gateway.metric('dragoman_model_state{model="fleet",state="ready"}')).toBe(1)
    expect(await gateway.metric('dragoman_model_load_seconds{model="fleet"}')).toBeGreaterThan(0)
    expect(await gateway.metric('dragoman_key_requests_total{key="anyone",outcome="ok"}')).toBe(3)
  } finally {
    await Promise.all([gateway.close(), engine.close()])
    await rm(folder, { recursive: true, force: true })
  }
})
