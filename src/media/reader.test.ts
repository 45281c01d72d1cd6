import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { blankPng, images, silence } from '../../test/support/pictures.ts'
import type { MediaKind, MediaReference } from '../contract/media.ts'
import { allScopes } from '../contract/principal.ts'
import { createMediaReader, type MediaOptions } from './reader.ts'

const principal = { id: 'one', scopes: allScopes }
const at = ['prompt', 'messages', 0, 'content', 1, 'source'] as const

async function read(source: MediaReference, kind: MediaKind = 'image', options: MediaOptions = {}) {
  const { signal } = new AbortController()
  const { media } = await createMediaReader(options).read([{ kind, source, at }], { principal, signal })
  return media[0]
}

function base64(bytes: Buffer, mediaType?: string): MediaReference {
  return { type: 'base64', base64: bytes.toString('base64'), ...(mediaType !== undefined && { mediaType }) }
}

function dataUrl(text: string): MediaReference {
  return { type: 'url', url: `data:${text}` }
}

test('an image is its bytes, with what they are', async () => {
  const bytes = blankPng(3, 2)
  expect(await read(base64(bytes))).toEqual({
    type: 'bytes',
    base64: bytes.toString('base64'),
    sizeBytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    mediaType: 'image/png',
    width: 3,
    height: 2,
  })
})

test.each(Object.entries(images))('%s is recognised by its bytes, not by the declared type', async (mediaType, bytes) => {
  expect(await read(base64(bytes, 'image/png'))).toMatchObject({ mediaType, width: 3, height: 2 })
  expect(await read(base64(bytes, 'text/html'))).toMatchObject({ mediaType, width: 3, height: 2 })
})

test('audio has the time of its header', async () => {
  expect(await read(base64(silence(800)), 'audio')).toMatchObject({ mediaType: 'audio/wav', durationMs: 100 })
})

describe('the spelling does not matter:', () => {
  const bytes = blankPng()
  const text = bytes.toString('base64')
  const percent = `%${bytes.toString('hex').match(/../g)?.join('%')}`
  test.each([
    ['a data URL', dataUrl(`image/png;base64,${text}`)],
    ['its scheme in capitals', { type: 'url', url: `DATA:image/png;BASE64,${text}` } as const],
    ['with parameters', dataUrl(`image/png;charset=utf-8;name="a b";base64,${text}`)],
    ['without a type', dataUrl(`;base64,${text}`)],
    ['with a wrong type', dataUrl(`text/html;base64,${text}`)],
    ['base64 that is percent-encoded', dataUrl(`image/png;base64,${encodeURIComponent(text)}`)],
    ['percent-encoded bytes', dataUrl(`image/png,${percent}`)],
    ['the alphabet of URLs', { type: 'base64', base64: bytes.toString('base64url') } as const],
  ])('the reader takes %s', async (_, source) => {
    expect(await read(source)).toEqual(await read(base64(bytes)))
  })
})

test('a document has its declared type, unless it is a PDF', async () => {
  expect(await read(base64(Buffer.from('%PDF-1.7'), 'text/plain'), 'file')).toMatchObject({ mediaType: 'application/pdf' })
  expect(await read(base64(Buffer.from('a,b'), 'text/csv'), 'file')).toMatchObject({ mediaType: 'text/csv' })
  expect(await read(dataUrl('text/csv,a%2Cb'), 'file')).toMatchObject({ mediaType: 'text/csv', sizeBytes: 3 })
})

describe('is refused by its place, with the reason:', () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')
  test.each<[string, MediaReference, MediaKind, RegExp]>([
    ['nothing', base64(Buffer.alloc(0)), 'image', /is empty/],
    ['what is not base64', { type: 'base64', base64: 'AA#=' }, 'image', /not valid base64/],
    ['white space', { type: 'base64', base64: 'AAAA\nAAAA' }, 'image', /has white space or line breaks/],
    ['padding in the middle', { type: 'base64', base64: 'AA==AAAA' }, 'image', /not valid base64/],
    ['a missing character', { type: 'base64', base64: 'AAAAA' }, 'image', /not valid base64/],
    ['a data URL with a long head', dataUrl(`image/png${';a=b'.repeat(250)};base64,AAAA`), 'image', /not a data: URL/],
    ['a data URL without a comma', dataUrl('image/png;base64'), 'image', /not a data: URL/],
    ['half an escape', dataUrl('image/png,%8'), 'image', /two hexadecimal digits/],
    ['text', base64(Buffer.from('hello, world')), 'image', /by its bytes it is of no known type; send a PNG/],
    ['SVG', base64(svg, 'image/svg+xml'), 'image', /send a PNG/],
    ['HTML', base64(Buffer.from('<!doctype html><p>no'), 'image/png'), 'image', /send a PNG/],
    ['audio for an image', base64(silence()), 'image', /by its bytes it is audio\/wav/],
    ['an image for audio', base64(blankPng()), 'audio', /by its bytes it is image\/png; send audio such as WAV/],
    ['an archive', base64(Buffer.from('504b0304', 'hex')), 'image', /it is an archive/],
    ['a header that ends too early', base64(blankPng().subarray(0, 18)), 'image', /cannot be read|no known type/],
    [
      'an image of no height',
      base64(blankPng(1, 1, { claimed: { width: 1, height: 0 } })),
      'image',
      /width and height cannot be read/,
    ],
    [
      '100,000 × 100,000 pixels',
      base64(blankPng(1, 1, { claimed: { width: 1e5, height: 1e5 } })),
      'image',
      /100000 × 100000 pixels/,
    ],
    ['two hours', base64(silence(10, { claimedBytes: 2 * 3600 * 8000 })), 'audio', /lasts 7200 seconds/],
  ])('the reader refuses %s', async (_, source, kind, message) => {
    await expect(read(source, kind)).rejects.toMatchObject({
      code: 'invalid-request',
      at,
      message: expect.stringMatching(message),
    })
  })
})

test('what is larger than the limit is refused before it is decoded', async () => {
  const source = base64(Buffer.alloc(2000))
  const options = { limits: { maxBytes: { image: 1999, audio: 1, video: 1, file: 1 } } }
  await expect(read(source, 'image', options)).rejects.toThrow('has 2000 bytes, more than the limit (media.maxBytes.image, 1999')
  await expect(read(dataUrl(`image/png,${'%00'.repeat(2000)}`), 'image', options)).rejects.toThrow('has 2000 bytes')
  await expect(read(dataUrl(`image/png,${'%00'.repeat(400_000)}`))).rejects.toThrow('send it as base64')
})

test('all media of a request have a limit of their number and of their bytes', async () => {
  const items = Array.from({ length: 3 }, (_, index) => ({ kind: 'image', source: base64(blankPng()), at: [index] }) as const)
  const { signal } = new AbortController()
  const few = createMediaReader({ limits: { maxItems: 2 } })
  await expect(few.read(items, { principal, signal })).rejects.toMatchObject({
    at: [2],
    message: expect.stringContaining('3 media'),
  })
  const small = createMediaReader({ limits: { maxTotalBytes: 2 * blankPng().length } })
  await expect(small.read(items, { principal, signal })).rejects.toMatchObject({ at: [2] })
})
