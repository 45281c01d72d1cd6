import { readFile } from 'node:fs/promises'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { openHub } from '../../support/upstream/hub.ts'

vi.setConfig({ testTimeout: 60_000 })

let app: RunningApp
let hub: Awaited<ReturnType<typeof openHub>>
beforeEach(async () => {
  hub = await openHub()
  app = await startApp({
    builtinModel: false,
    models: [{ engine: 'fake', id: 'echo', script: 'from-request' }],
    server: { adminKey: 'admin', apiKeys: ['user'] },
  })
  onTestFinished(() => app.close())
})

async function download(body: object, { key = 'admin', signal }: { key?: string; signal?: AbortSignal } = {}) {
  const response = await fetch(`${app.url}/v1/download`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  })
  return { status: response.status, body: (await response.json()) as { download_path: string; error: { param: string } } }
}

test('a repository is fetched with its own token, which nothing keeps', async () => {
  const { status, body } = await download({ repo_id: 'owner/some-GGUF', revision: 'v2', token: 'hf_secret' })
  expect(status).toBe(200)
  expect(body.download_path).toMatch(/owner.some-GGUF.v2.x-Q4_K_M\.gguf$/)
  expect((await readFile(body.download_path)).equals(await readFile(builtinModel.path))).toBe(true)
  expect(hub.seen.map(({ headers }) => headers.authorization)).toEqual(hub.seen.map(() => 'Bearer hf_secret'))
  expect(JSON.stringify(app.logLines())).not.toContain('hf_secret')
})

test('patterns choose the file', async () => {
  expect((await download({ repo_id: 'owner/some', include: ['*q8*', '*Q8_?.gguf'] })).body.download_path).toMatch(/x-Q8_0\.gguf$/)
  expect((await download({ repo_id: 'owner/some', exclude: ['*Q4*'] })).body.download_path).toMatch(/x-Q8_0\.gguf$/)
  expect(await download({ repo_id: 'owner/some', include: ['*.md'] })).toMatchObject({
    status: 400,
    body: { error: { param: 'include', message: expect.stringContaining('x-Q4_K_M.gguf, x-Q8_0.gguf') } },
  })
})

test('a client that leaves cancels its download, and the next goes on from there', async () => {
  const resume = hub.hold()
  const client = new AbortController()
  const left = download({ repo_id: 'owner/some' }, { signal: client.signal })
  left.catch(() => undefined)
  await until(async () => hub.seen.length === 2)
  client.abort()
  await until(async () => app.logLines().some((line) => JSON.stringify(line).includes('client-gone')))
  resume()
  expect((await download({ repo_id: 'owner/some' })).status).toBe(200)
})

test('a download that takes longer than its timeout fails', async () => {
  hub.hold()
  expect(await download({ repo_id: 'owner/some', timeout: 1 })).toMatchObject({
    status: 503,
    body: { error: { param: 'timeout' } },
  })
})

test('is for administrators', async () => {
  expect((await download({ repo_id: 'owner/some' }, { key: 'user' })).status).toBe(403)
})
