import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../test/support/http/app.ts'
import { blankPng } from '../../test/support/pictures.ts'

let app: RunningApp
let ann: OpenAI
const keys = { ann: 'ann-'.repeat(8), bob: 'bob-'.repeat(8) }

beforeAll(async () => {
  app = await startApp({
    builtinModel: false,
    models: [{ engine: 'fake', id: 'scripted', script: 'from-request' }],
    server: { apiKeys: Object.entries(keys).map(([name, key]) => ({ name, key })) },
    media: { maxBytes: { image: 50_000, audio: 1, video: 1, file: 1 } },
  })
  ann = new OpenAI({ apiKey: keys.ann, baseURL: `${app.url}/v1`, maxRetries: 0 })
})

afterAll(() => app.close())

const bytes = blankPng(5, 4)

test("OpenAI's SDK uploads, lists, reads and deletes", async () => {
  const file = await ann.files.create({ file: await toFile(bytes, 'a.png', { type: 'image/png' }), purpose: 'vision' })
  expect(file).toMatchObject({ object: 'file', bytes: bytes.length, filename: 'a.png', purpose: 'vision', status: 'processed' })
  expect(await ann.files.retrieve(file.id)).toEqual(file)
  expect((await ann.files.list()).data).toEqual([file])
  const content = await ann.files.content(file.id)
  expect(Buffer.from(await content.arrayBuffer())).toEqual(bytes)
  expect(content.headers.get('content-disposition')).toBe('attachment')
  const bob = new OpenAI({ apiKey: keys.bob, baseURL: `${app.url}/v1`, maxRetries: 0 })
  expect((await bob.files.list()).data).toEqual([])
  await expect(bob.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 })
  await expect(bob.files.delete(file.id)).rejects.toMatchObject({ status: 404 })
  expect(await ann.files.delete(file.id)).toEqual({ id: file.id, object: 'file', deleted: true })
  await expect(ann.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 })
})

test("Anthropic's SDK does too, in its own form", async () => {
  const client = new Anthropic({ apiKey: keys.ann, baseURL: app.url, maxRetries: 0 })
  const file = await client.beta.files.upload({ file: await toFile(bytes, 'b.png', { type: 'image/png' }) })
  expect(file).toMatchObject({ type: 'file', filename: 'b.png', mime_type: 'image/png', size_bytes: bytes.length })
  expect(await client.beta.files.retrieveMetadata(file.id)).toMatchObject({ id: file.id })
  expect((await client.beta.files.list()).data.map(({ id }) => id)).toEqual([file.id])
  const content = await client.beta.files.download(file.id)
  expect(Buffer.from(await content.arrayBuffer())).toEqual(bytes)
  expect(await client.beta.files.delete(file.id)).toMatchObject({ id: file.id, type: 'file_deleted' })
  await expect(client.beta.files.retrieveMetadata(file.id)).rejects.toMatchObject({
    status: 404,
    error: { type: 'error', error: { type: 'not_found_error' } },
  })
})

test('pages of files', async () => {
  const ids: string[] = []
  for (const name of ['1', '2', '3']) {
    ids.unshift((await ann.files.create({ file: await toFile(Buffer.from(name), name), purpose: 'user_data' })).id)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const found: string[] = []
  for await (const { id } of ann.files.list({ limit: 2 })) found.push(id)
  expect(found).toEqual(ids)
  expect((await ann.files.list({ order: 'asc' })).data.map(({ id }) => id)).toEqual([...ids].reverse())
  expect((await ann.files.list({ purpose: 'vision' })).data).toEqual([])
  await expect(ann.files.list({ limit: 0 })).rejects.toMatchObject({ status: 400, param: 'limit' })
  await expect(ann.files.list({ after: 'x' })).rejects.toMatchObject({ status: 400, param: 'after' })
  for (const id of ids) await ann.files.delete(id)
})

const form = (...fields: readonly [string, string | Blob][]) => {
  const data = new FormData()
  for (const [name, value] of fields) data.append(name, value)
  return data
}

test.each<[string, FormData | string, Record<string, string>, object]>([
  ['another purpose', form(['file', new Blob(['a'])], ['purpose', 'fine-tune']), {}, { status: 400, param: 'purpose' }],
  ['no purpose', form(['file', new Blob(['a'])]), {}, { status: 400, param: 'purpose' }],
  ['no file', form(['purpose', 'vision']), {}, { status: 400, param: 'file' }],
  ['two files', form(['purpose', 'vision'], ['file', new Blob(['a'])], ['file', new Blob(['b'])]), {}, { status: 400 }],
  ['a file in another field', form(['purpose', 'vision'], ['image', new Blob(['a'])]), {}, { status: 400 }],
  [
    'a short life',
    form(
      ['purpose', 'vision'],
      ['expires_after[anchor]', 'created_at'],
      ['expires_after[seconds]', '9'],
      ['file', new Blob(['a'])],
    ),
    {},
    { status: 400, param: 'expires_after.seconds' },
  ],
  ['a long field', form(['purpose', 'v'.repeat(5000)], ['file', new Blob(['a'])]), {}, { status: 400 }],
  ['too many bytes', form(['purpose', 'vision'], ['file', new Blob([Buffer.alloc(50_001)])]), {}, { status: 413 }],
  ['JSON', '{}', { 'content-type': 'application/json' }, { status: 415 }],
  ['no boundary', 'a', { 'content-type': 'multipart/form-data' }, { status: 400 }],
  [
    'half a form',
    '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
    { 'content-type': 'multipart/form-data; boundary=b' },
    { status: 400 },
  ],
])('%s is refused, and nothing stays', async (_, body, headers, expected) => {
  const reply = await fetch(`${app.url}/v1/files`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${keys.ann}`, ...headers },
  })
  const { error } = (await reply.json()) as { error: { param: string } }
  expect({ status: reply.status, ...error }).toMatchObject(expected)
  expect((await ann.files.list()).data).toEqual([])
})

test('a form is for uploads only', async () => {
  const headers = { authorization: `Bearer ${keys.ann}` }
  const reply = await fetch(`${app.url}/v1/chat/completions`, { method: 'POST', body: form(['model', 'scripted']), headers })
  expect(reply.status).toBe(415)
})

test('an upload whose client leaves is forgotten', async () => {
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(
    `POST /v1/files HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${keys.ann}\r\ncontent-length: 5000\r\n` +
      'content-type: multipart/form-data; boundary=b\r\n\r\n' +
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
  )
  const parts = async () => (await readdir(join(app.home, 'files'), { recursive: true })).filter((name) => name.includes('/'))
  await expect.poll(parts).toHaveLength(1)
  const before = app.logLines().length
  socket.destroy()
  await expect.poll(parts, { interval: 5 }).toEqual([])
  // Its client has left: this server did not fail.
  const lines = () => app.logLines().slice(before) as { msg?: string; level: number; code?: string }[]
  await expect.poll(() => lines().some(({ msg }) => msg === 'request failed' || msg === 'request stopped')).toBe(true)
  for (const line of lines()) expect(line.level, JSON.stringify(line)).toBeLessThan(40)
})

test('the room of an upload whose client leaves is free again', async () => {
  const small = await startApp({
    builtinModel: false,
    models: [{ engine: 'fake', id: 'scripted', script: 'from-request' }],
    media: { files: { maxBytes: 10_000 } },
  })
  const { hostname, port } = new URL(small.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(
    `POST /v1/files HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 9999\r\n` +
      'content-type: multipart/form-data; boundary=b\r\n\r\n' +
      `--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${'a'.repeat(9000)}`,
  )
  const upload = async () => {
    const body = form(['purpose', 'vision'], ['file', new Blob([Buffer.alloc(5000)])])
    return (await fetch(`${small.url}/v1/files`, { method: 'POST', body })).status
  }
  const arrived = async () => {
    const names = await readdir(join(small.home, 'files'), { recursive: true }).catch(() => [])
    const part = names.find((name) => name.endsWith('.part'))
    return part === undefined ? 0 : (await stat(join(small.home, 'files', part))).size
  }
  await expect.poll(arrived).toBeGreaterThan(5000)
  // Both together are more than a caller may keep.
  expect(await upload()).toBe(409)
  socket.destroy()
  await expect.poll(upload).toBe(200)
  await small.close()
})
