import { PassThrough, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BodyRoom } from './body-room.ts'
import { readForm } from './read-form.ts'
import { readUpload } from './read-upload.ts'

const headers = { 'content-type': 'multipart/form-data; boundary=b' }
const mebibyte = 1024 * 1024
const field = (name: string, value: string) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const file = (name: string, bytes: string) =>
  `--b\r\ncontent-disposition: form-data; name="${name}"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\n${bytes}\r\n`
const end = '--b--\r\n'

const share = () => new BodyRoom(16 * mebibyte).open()
const form = (body: Readable) => readForm({ headers, body, limitBytes: 4 * mebibyte, share: share() })
const upload = (body: Readable, signal = new AbortController().signal) =>
  readUpload({ headers, body, signal }, async ({ bytes, allFields }) => {
    const text = (await bytes.toArray()).join('')
    return { text, fields: Object.fromEntries(await allFields()) }
  })
const bodyOf = (...pieces: string[]) => Readable.from(pieces.map((piece) => Buffer.from(piece)))

test('a form has its parts in their order', async () => {
  const parts = await form(bodyOf(field('model', 'whisper'), file('file', 'sound'), field('prompt', 'x'), end))
  expect(parts).toEqual([
    { name: 'model', value: 'whisper' },
    { name: 'file', filename: 'a.wav', mediaType: 'audio/wav', bytes: Buffer.from('sound') },
    { name: 'prompt', value: 'x' },
  ])
})

test('an upload has its fields, before and after the file', async () => {
  const body = bodyOf(field('purpose', 'vision'), file('file', 'picture'), field('more', 'x'), end)
  expect(await upload(body)).toEqual({ text: 'picture', fields: { purpose: 'vision', more: 'x' } })
})

const readers = { form, upload } as const
const faults: readonly (readonly [string, () => Readable, RegExp])[] = [
  ['ends too early', () => bodyOf(file('file', 'x')), /^the body is not valid multipart\/form-data: Unexpected end/],
  [
    'has too many files',
    () => bodyOf(...Array.from({ length: 18 }, () => file('file', 'x')), end),
    /more than (one file|17 files)/,
  ],
  ['has too many fields', () => bodyOf(...Array.from({ length: 70 }, () => field('a', 'x')), end), /more than (16|64) fields/],
  ['has a long value', () => bodyOf(field('a', 'x'.repeat(mebibyte + 1)), end), /^the field 'a' is too long/],
  ['has a long name', () => bodyOf(field('n'.repeat(200), 'x'), end), /the field 'n{40}' is too long/],
]
test.each(
  faults.flatMap(([name, make, message]) => (['form', 'upload'] as const).map((kind) => [kind, name, make, message] as const)),
)('a body of the kind %s that %s is refused', async (kind, _, make, message) => {
  await expect(readers[kind](make())).rejects.toMatchObject({ code: 'invalid-request', message: expect.stringMatching(message) })
})

test.each(['form', 'upload'] as const)(
  'a body of the kind %s whose connection is closed already is not waited for',
  async (kind) => {
    const body = new PassThrough()
    body.destroy()
    await expect(readers[kind](body)).rejects.toMatchObject({ code: 'cancelled' })
  },
)

test.each(['form', 'upload'] as const)('a client that leaves is a cancel, not a fault of this server: %s', async (kind) => {
  const body = new PassThrough()
  const reading = readers[kind](body)
  body.write(file('file', 'x'))
  const error = Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
  body.destroy(error)
  await expect(reading).rejects.toMatchObject({ code: 'cancelled', cause: error })
})

test('an upload that was cancelled before it began is not read', async () => {
  const reason = new Error('gone')
  await expect(upload(new PassThrough(), AbortSignal.abort(reason))).rejects.toBe(reason)
})

test('the rest of a form for which there is no room takes no room', async () => {
  const room = new BodyRoom(mebibyte)
  const other = room.open()
  other.grow(mebibyte - 100_000)
  const own = room.open()
  const body = new PassThrough()
  const reading = readForm({ headers, body, limitBytes: mebibyte, share: own })
  body.write(file('file', 'x'.repeat(200_000)))
  await expect(reading).rejects.toMatchObject({ code: 'overloaded' })
  const taken = own.sizeBytes
  other.close()
  body.end('y'.repeat(1000))
  await new Promise((resolve) => body.once('close', resolve))
  await nextTurn()
  expect(own.sizeBytes).toBe(taken)
})
