import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { blankPng, silence } from '../../test/support/pictures.ts'
import { cpuMsOf } from '../../test/support/process/cpu-time.ts'
import { AppError } from '../contract/errors.ts'
import type { MediaItem, MediaReference } from '../contract/media.ts'
import { allScopes } from '../contract/principal.ts'
import { parseBlock } from './address.ts'
import { createMediaReader, type MediaOptions } from './reader.ts'

const host = '127.0.0.2'
const urls = { allowed: [parseBlock(host)].filter((block) => block !== undefined) }
const bytes = blankPng(4, 3)

let handler: RequestListener
let hits: string[]
let running = 0
let most = 0
let base: string
const server = createServer((request, response) => {
  hits.push(request.url ?? '')
  running += 1
  most = Math.max(most, running)
  response.on('close', () => {
    running -= 1
  })
  handler(request, response)
})

beforeAll(async () => {
  server.listen(0, host)
  await once(server, 'listening')
  base = `http://${host}:${(server.address() as AddressInfo).port}`
})

beforeEach(() => {
  hits = []
  most = 0
  handler = (_, response) => response.end(bytes)
})

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

const itemOf = (source: MediaReference, index = 0): MediaItem => ({ kind: 'image', source, at: [index] })
const urlItem = (path: string, index = 0) => itemOf({ type: 'url', url: base + path }, index)

function reading(options: MediaOptions = {}) {
  const reader = createMediaReader({ urls, ...options })
  return async (items: readonly MediaItem[], { owner = 'one', signal = new AbortController().signal } = {}) => {
    const { media, release } = await reader.read(items, { principal: { id: owner, scopes: allScopes }, signal })
    release()
    return media
  }
}

test('the same picture from every source is the same', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-media-'))
  await writeFile(join(folder, 'a.png'), bytes)
  const base64 = bytes.toString('base64')
  const sources: readonly MediaReference[] = [
    { type: 'base64', base64 },
    { type: 'url', url: `data:image/png;base64,${base64}` },
    { type: 'url', url: `${base}/a.png` },
    { type: 'url', url: `file://${folder}/a.png` },
    { type: 'url', url: `${folder}/a.png` },
  ]
  const media = await reading({ folder })(sources.map(itemOf))
  for (const one of media) expect(one).toEqual(media[0])
  await rm(folder, { recursive: true })
})

test('the base64 of a data: URL may be percent-encoded, wherever the pieces end in which it is decoded', async () => {
  const read = reading()
  const itemWith = (data: string) => itemOf({ type: 'url', url: `data:image/png;base64,${data}` })
  // After encoding, 2.4 million characters: three pieces.
  const picture = Buffer.concat([bytes, Buffer.alloc(600 * 1024, 0xfb)])
  const escaped = picture.toString('base64').replaceAll('+', '%2b').replaceAll('/', '%2F').replaceAll('=', '%3D')
  const [plain] = await read([itemWith(picture.toString('base64'))])
  for (let shift = 0; shift < 3; shift += 1) {
    const begun = escaped.slice(0, shift).replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
    expect(await read([itemWith(begun + escaped.slice(shift))])).toEqual([plain])
  }
  await expect(read([itemWith('iVBO%2')])).rejects.toThrow('is not valid base64')
  await expect(read([itemWith('iVBO%20==')])).rejects.toThrow('has white space')
})

test('a file is what its bytes are, within the limits of that kind', async () => {
  const fileItem = (file: Buffer, mediaType?: string): MediaItem => {
    const source = { type: 'base64', base64: file.toString('base64'), ...(mediaType !== undefined && { mediaType }) } as const
    return { kind: 'file', source, at: [0] }
  }
  const read = reading()
  const [picture] = await read([fileItem(bytes, 'application/pdf')])
  expect(picture).toMatchObject({ mediaType: 'image/png', width: 4, height: 3 })
  expect(await read([fileItem(silence())])).toMatchObject([{ mediaType: 'audio/wav', durationMs: 100 }])
  expect(await read([fileItem(Buffer.from('%PDF-1.7'))])).toMatchObject([{ mediaType: 'application/pdf' }])
  expect(await read([fileItem(Buffer.from('a,b'), 'text/csv')])).toMatchObject([{ mediaType: 'text/csv' }])
  // The sync bytes of a film, in a text.
  const film = `${'G'.padEnd(188, 'x')}`.repeat(4)
  expect(await read([fileItem(Buffer.from(film))])).toMatchObject([{ mediaType: 'text/plain' }])
  expect(await read([fileItem(Buffer.from('<svg/>'), 'image/svg+xml')])).toMatchObject([{ mediaType: 'text/plain' }])
  expect(await read([fileItem(Buffer.from('PK\x03\x04\0'))])).toMatchObject([{ mediaType: 'application/octet-stream' }])
  const bomb = blankPng(1, 1, { claimed: { width: 100_000, height: 100_000 } })
  await expect(read([fileItem(bomb)])).rejects.toThrow('media.maxPixels')
})

test('the second time it comes from the cache, for the same caller only', async () => {
  const read = reading()
  const [first] = await read([urlItem('/1')])
  expect(await read([urlItem('/1')])).toEqual([first])
  expect(hits).toEqual(['/1'])
  await read([urlItem('/1')], { owner: 'two' })
  expect(hits).toEqual(['/1', '/1'])
})

test('what its server wants to have fetched anew is', async () => {
  handler = (_, response) => response.setHeader('cache-control', 'no-store').end(bytes)
  const read = reading()
  await read([urlItem('/1')])
  await read([urlItem('/1')])
  expect(hits).toHaveLength(2)
})

test('what a request names twice is fetched once', async () => {
  await reading()([urlItem('/1'), urlItem('/2', 1), urlItem('/1', 2)])
  expect(hits.sort()).toEqual(['/1', '/2'])
})

test('a caller has eight fetches in flight at most, and one request four', async () => {
  handler = (_, response) => setTimeout(() => response.end(bytes), 30)
  const read = reading()
  await read(Array.from({ length: 12 }, (_, index) => urlItem(`/${index}`, index)))
  expect(most).toBe(4)
  const requests = Array.from({ length: 5 }, (_, request) =>
    read(Array.from({ length: 4 }, (_, index) => urlItem(`/${request}-${index}`, index))),
  )
  await Promise.all(requests)
  expect(most).toBe(8)
})

test('the first failure ends the other fetches, and names its place', async () => {
  handler = ({ url }, response) => {
    if (url === '/bad') response.writeHead(404).end()
    else response.write('x')
  }
  const items = [urlItem('/1', 1), urlItem('/bad', 2), urlItem('/3', 3), urlItem('/4', 4), urlItem('/5', 5)]
  await expect(reading()(items)).rejects.toMatchObject({ at: [2] })
  await expect.poll(() => running).toBe(0)
  expect(hits).not.toContain('/5')
})

test('a cancel ends all fetches', async () => {
  handler = (_, response) => response.write('x')
  const controller = new AbortController()
  const reason = new AppError('cancelled', 'enough')
  const items = Array.from({ length: 20 }, (_, index) => urlItem(`/${index}`, index))
  const ended = reading()(items, { signal: controller.signal }).catch((error) => error)
  await expect.poll(() => running).toBe(4)
  controller.abort(reason)
  expect(await ended).toBe(reason)
  await expect.poll(() => running, { interval: 5 }).toBe(0)
  expect(hits).toHaveLength(4)
})

test('the requests in flight share the memory, which is free again when one has ended', async () => {
  const reader = createMediaReader({ urls, memoryBytes: 1.5 * bytes.length, cache: { maxBytes: 0, ttlMs: 0 } })
  const caller = { principal: { id: 'one', scopes: allScopes }, signal: new AbortController().signal }
  const { release } = await reader.read([urlItem('/1')], caller)
  await expect(reader.read([urlItem('/2')], caller)).rejects.toMatchObject({ code: 'overloaded', retryAfterMs: 1000 })
  release()
  release()
  const again = await reader.read([urlItem('/2')], caller)
  await expect(reader.read([urlItem('/1')], caller)).rejects.toMatchObject({ code: 'overloaded' })
  again.release()
})

test('where URLs are off, none is fetched; other schemes never are', async () => {
  const off = createMediaReader()
  const caller = { principal: { id: 'one', scopes: allScopes }, signal: new AbortController().signal }
  await expect(off.read([urlItem('/1')], caller)).rejects.toMatchObject({ code: 'unsupported-field', at: [0] })
  for (const url of ['gopher://x', 'ftp://x/y', 'a.png', '', 'javascript:1', '//x/y']) {
    await expect(reading()([itemOf({ type: 'url', url })])).rejects.toMatchObject({ code: 'unsupported-field', at: [0] })
  }
  expect(hits).toEqual([])
})

test('bombs are refused quickly, in little memory, while others have their turn', async () => {
  const large = Buffer.concat([
    blankPng(1, 1, { claimed: { width: 100_000, height: 100_000 } }),
    Buffer.alloc(10 * 1024 * 1024),
  ]).toString('base64')
  const many = Array.from({ length: 1000 }, (_, index) => itemOf({ type: 'url', url: `${base}/${index}` }, index))
  const long = silence(8 * 1024 * 1024, { claimedBytes: 2 * 3600 * 8000 }).toString('base64')
  const bombs: readonly (readonly MediaItem[])[] = [
    [itemOf({ type: 'base64', base64: large })],
    many,
    [{ kind: 'audio', source: { type: 'base64', base64: long }, at: [0] }],
    [itemOf({ type: 'url', url: `data:image/png;base64,${'A'.repeat(40 * 1024 * 1024)}` })],
    [itemOf({ type: 'url', url: `data:image/png,${'%00'.repeat(8 * 1024 * 1024)}` })],
    [itemOf({ type: 'base64', base64: Buffer.alloc(15 * 1024 * 1024).toString('base64') })],
  ]
  const read = reading()
  await read([urlItem('/warm')])
  hits = []
  const before = process.memoryUsage().rss
  for (const bomb of bombs) {
    const cpuMs = await cpuMsOf(() => expect(read(bomb)).rejects.toMatchObject({ code: 'invalid-request' }))
    expect(cpuMs).toBeLessThan(1000)
  }
  expect(hits).toEqual([])
  expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024)
})
