import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type RunningApp, startApp } from '../../../test/support/http/app.ts'
import { fine, upstream } from '../../../test/support/upstream/remote-engine.ts'
import type { ScriptedUpstream } from '../../../test/support/upstream/upstream.ts'
import { drain } from '../../cli/drain.ts'
import { separateEntries } from '../../config/entries.ts'
import { configSchema } from '../../config/schema.ts'

const settings = (servers: readonly ScriptedUpstream[], more: object = {}) => ({
  builtinModel: false,
  storage: 'off' as const,
  server: { apiKeys: [{ key: 'operator-key', scopes: ['admin' as const] }, { key: 'user-key' }] },
  models: [
    {
      id: 'm',
      engine: 'remote' as const,
      endpoints: servers.map(({ url }) => ({ url })),
      probe: false,
      affinity: 'off' as const,
      ...more,
    },
  ],
})

let app: RunningApp
let a: ScriptedUpstream
let b: ScriptedUpstream
beforeEach(async () => {
  a = await upstream(fine)
  b = await upstream(fine)
  app = await startApp(settings([a, b]))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await app.close()
})

type Json = { readonly error: { readonly message: string }; readonly servers: readonly { readonly state: string }[] }

async function call(path: string, body?: object, key = 'operator-key') {
  const response = await fetch(`${app.url}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Json }
}

let asked = 0

/** How many of four requests reached each server. */
async function four(): Promise<readonly number[]> {
  const before = [a.seen.length, b.seen.length]
  for (let request = 0; request < 4; request++) {
    asked += 1
    await call('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: `Request ${asked}.` }] })
  }
  return [a, b].map(({ seen }, index) => seen.length - (before[index] ?? 0))
}

const states = async () => (await call('/v1/models/m')).json.servers.map(({ state }) => state)
const hostOf = ({ url }: ScriptedUpstream) => new URL(url).host

test('a server that drains gets no new requests until it is used again', async () => {
  expect(await four()).toEqual([2, 2])
  const { status, json } = await call('/api/inference/replicas/drain', { model: 'm', url: a.url })
  expect([status, json]).toEqual([200, { status: 'draining', model: 'm', servers: [{ host: hostOf(a), active_requests: 0 }] }])
  expect(await four()).toEqual([0, 4])
  expect(await states()).toEqual(['draining', 'healthy'])
  const metrics = await fetch(`${app.url}/metrics`, { headers: { authorization: 'Bearer operator-key' } })
  expect(await metrics.text()).toContain(`dragoman_replica_state{model="m",server="${hostOf(a)}",state="draining"} 1`)
  await call('/api/inference/replicas/undrain', { model: 'm', url: hostOf(a) })
  expect(await states()).toEqual(['healthy', 'healthy'])
  expect(await four()).toEqual([2, 2])
})

test('it drains on after a reload of the same servers, also where other settings of the model have changed', async () => {
  await call('/api/inference/replicas/drain', { model: 'm', url: `${a.url}/` })
  const reload = (more: object) =>
    app.reconfigure({ ...separateEntries(configSchema.parse(settings([a, b], more))), home: app.home })
  await reload({})
  expect(await four()).toEqual([0, 4])
  await reload({ slots: 7 })
  expect(await four()).toEqual([0, 4])
  expect(await states()).toEqual(['draining', 'healthy'])
})

test('what cannot be drained is refused by name, and only an administrator may', async () => {
  const refused = async (body: object, key?: string) => {
    const { status, json } = await call('/api/inference/replicas/drain', body, key)
    return [status, json.error.message]
  }
  expect(await refused({ model: 'm', url: 'http://10.0.0.9/v1' })).toEqual([
    404,
    `model 'm' has no server 'http://10.0.0.9/v1'; it has: ${hostOf(a)}, ${hostOf(b)}`,
  ])
  expect(await refused({ model: 'x', url: a.url })).toEqual([404, expect.stringContaining('x')])
  expect(await refused({ model: 'm' })).toEqual([400, expect.stringContaining('url')])
  expect(await refused({ model: 'm', url: a.url }, 'user-key')).toEqual([403, expect.stringContaining('admin')])
})

test('the commands say what was done, and what still runs', async () => {
  const said: unknown[] = []
  vi.spyOn(console, 'log').mockImplementation((text) => void said.push(text))
  const server = { url: app.url, apiKey: 'operator-key' }
  await drain(server, { model: 'm', url: a.url, isDraining: true })
  await drain(server, { model: 'm', url: hostOf(a), isDraining: false })
  expect(said).toEqual([`${hostOf(a)} of m gets no new requests; 0 are still running there`, `${hostOf(a)} of m is in use`])
})
