import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeGguf } from '../../../test/support/llama/gguf-writer.ts'
import { builtinModel } from '../names/builtin-model.ts'
import { readGgufSize } from './gguf-size.ts'
import { requireGguf, requireReadableGguf } from './require-gguf.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-gguf-'))
})
afterAll(() => rm(folder, { recursive: true }))

const metadata = new Map([
  ['general.architecture', { type: 'string', value: 'none' }],
  ['tokenizer.ggml.tokens', { type: 'strings', value: Array.from({ length: 1000 }, (_, id) => `token ${id}`) }],
  ['tokenizer.ggml.scores', { type: 'float32s', value: [1, 2, 3] }],
  ['general.alignment', { type: 'uint32', value: 32 }],
] as const)
const data = new Float32Array(50_000)
const whole = encodeGguf(metadata, [
  { name: 'a', shape: [100], data: data.subarray(0, 100) },
  { name: 'b', shape: [200, 250], data },
])

/** Each length up to which a header is cut: all of them are too many. */
const cutWithinHeader = [4, 7, 8, 16, 23, 24, 30, 60, 1000, 15_000]

async function check(bytes: Buffer): Promise<string> {
  const file = join(folder, 'm.gguf')
  await writeFile(file, bytes)
  return requireGguf(file, { quotes: true }).then(
    () => 'whole',
    (error: Error) => error.message,
  )
}

test('a whole file has the size that its header says', () => {
  expect(readGgufSize(whole)).toEqual({ type: 'known', value: whole.length })
})

test.each<[string, Buffer, string]>([
  ['a whole file', whole, 'whole'],
  ['a file with more behind it', Buffer.concat([whole, Buffer.alloc(100)]), 'whole'],
  ['the half of a file', whole.subarray(0, 100_000), `the file is 100.0 kB of ${(whole.length / 1000).toFixed(1)} kB`],
  ['a file without its last byte', whole.subarray(0, -1), '(bytes missing: 1): it was truncated; fetch it again'],
  ['a file without tensors', encodeGguf(new Map(), []), 'whole'],
  ['a version of the future', Buffer.from('GGUF\u0009\u0000\u0000\u0000rest'), 'whole'],
  ['a page', Buffer.from('<!doctype html>'), 'this is not a GGUF file; it begins with "<!doctype html>"'],
  ['random bytes', Buffer.from([0, 1, 2, 250]), 'this is not a GGUF file'],
  ['an empty file', Buffer.alloc(0), 'the file is empty'],
  ['a header of random numbers', Buffer.concat([whole.subarray(0, 8), Buffer.alloc(100, 0xee)]), 'ends within its header'],
])('the check tells of %s', async (_, bytes, message) => {
  expect(await check(bytes)).toContain(message)
})

test.each(cutWithinHeader)('a file that ends after %i bytes of its header', async (length) => {
  expect(await check(whole.subarray(0, length))).toMatch(/ends within its header: it was truncated or damaged; fetch it again$/)
})

test('a header of many megabytes is read in parts', async () => {
  const long = encodeGguf(new Map([['x', { type: 'string', value: 'x'.repeat(9_000_000) }]]), [
    { name: 'b', shape: [200, 250], data },
  ])
  expect(await check(long)).toBe('whole')
  expect(await check(long.subarray(0, 5_000_000))).toContain('ends within its header')
  expect(await check(long.subarray(0, -100_000))).toContain('(bytes missing: 100000)')
})

test('arrays in arrays end the reading, however deep they are', () => {
  const array = Buffer.from([9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
  const begin = encodeGguf(new Map([['k', { type: 'uint32', value: 0 }]]), []).subarray(0, 24 + 9)
  const type = array.subarray(0, 4)
  expect(readGgufSize(Buffer.concat([begin, type, ...Array.from({ length: 200_000 }, () => array)]))).toMatchObject({
    type: 'unknown',
  })
})

test('the quantised tensors of a real model are counted', async () => {
  await requireGguf(builtinModel.path)
  const copy = join(folder, 'tiny.gguf')
  const handle = await open(builtinModel.path)
  const bytes = await handle.readFile()
  await handle.close()
  await writeFile(copy, bytes)
  await truncate(copy, bytes.length - 1)
  await expect(requireGguf(copy)).rejects.toThrow(`the file is 4.6 MB of 4.6 MB (bytes missing: 1)`)
})

/** A copy with other bytes at a place. */
function withBytes(bytes: Buffer, at: number, ...changed: readonly number[]): Buffer {
  const copy = Buffer.from(bytes)
  copy.set(changed, at)
  return copy
}

// Its first key is general.architecture, after magic, version and two counts.
const typeOfFirstValue = 24 + 8 + 'general.architecture'.length

test.each<[string, Buffer, string]>([
  ['version 3', whole, 'readable'],
  [
    'a version of the future',
    withBytes(whole, 4, 9),
    'the file has version 9 of the GGUF format; the embedded engine reads versions 2 and 3',
  ],
  ['the first version', withBytes(whole, 4, 1), 'the file has version 1 of the GGUF format'],
  ['a big-endian file', withBytes(whole, 4, 0, 0, 0, 3), 'the file is big-endian'],
  [
    'values of the future',
    withBytes(whole, typeOfFirstValue, 99),
    'the header of the file has a type of values that is not known',
  ],
])('the embedded engine: %s', async (_, bytes, expected) => {
  const file = join(folder, 'readable.gguf')
  await writeFile(file, bytes)
  const outcome = await requireReadableGguf(file).then(
    () => 'readable',
    (error: Error) => error.message,
  )
  expect(outcome).toContain(expected)
})
