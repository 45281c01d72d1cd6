import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeGguf, type GgufValue } from '../../../test/support/llama/gguf-writer.ts'
import { describeGguf } from './describe-gguf.ts'
import { readGgufFacts } from './gguf-facts.ts'
import { memoryNeed } from './memory-need.ts'
import { readFileHeader } from './read-file-header.ts'
import { requireGguf, requireReadableGguf } from './require-gguf.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-hostile-'))
})
afterAll(() => rm(folder, { recursive: true }))

const gigabyte = 1e9

const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
const uint64 = (value: number) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
const header = (tensors: number, entries: number, ...rest: readonly Buffer[]) =>
  Buffer.concat([Buffer.from('GGUF'), uint32(3), uint64(tensors), uint64(entries), ...rest])
const key = Buffer.concat([uint64(1), Buffer.from('k')])
const [textType, listType] = [uint32(8), uint32(9)]

/** A file of a gigabyte that takes some kilobytes of the disk: zeros behind its beginning. */
async function sparse(begin: Buffer): Promise<string> {
  const file = join(folder, 'sparse.gguf')
  await writeFile(file, begin)
  await truncate(file, gigabyte)
  return file
}

async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'accepted',
    (error: Error) => error.message,
  )
}

test.each<[string, Buffer, string]>([
  ['tensors', header(2 ** 40, 0), 'ends within its header'],
  ['tensors that the file has room for', header(3e7, 0), 'longer than 67108864 bytes'],
  ['entries', header(0, 2 ** 40), 'ends within its header'],
  ['entries that the file has room for', header(0, 6e7), 'longer than 67108864 bytes'],
  ['entries that a header has room for', header(0, 4e6), '4000000 entries of metadata (at most 4096)'],
  ['bytes of a key', header(0, 1, uint64(1e6)), 'a key of the header has 1000000 bytes (at most 65535)'],
  ['bytes of a text', header(0, 1, key, textType, uint64(9e8)), 'longer than 67108864 bytes'],
  ['texts of a list', header(0, 1, key, listType, textType, uint64(1e8)), 'a list of the header has 100000000 texts'],
  ['texts that a header has room for', header(0, 1, key, listType, textType, uint64(4e6)), 'at most 2097152'],
  ['numbers of a list', header(0, 1, key, listType, uint32(4), uint64(2e8)), 'longer than 67108864 bytes'],
  ['dimensions of a tensor', header(1, 0, uint64(0), uint32(2 ** 32 - 1)), 'longer than 67108864 bytes'],
])('a header that claims more %s than models have is refused for little memory', async (_, begin, message) => {
  const file = await sparse(begin)
  const before = process.resourceUsage().maxRSS
  const outcomes = [await outcomeOf(requireGguf(file)), await outcomeOf(requireReadableGguf(file))]
  expect(await describeGguf(file)).toEqual({})
  expect((await memoryNeed({ modelPath: file, slots: 1, flashAttention: true, processBytes: 0 })).bytes).toBeLessThan(
    1.1 * gigabyte,
  )
  expect(outcomes.join('\n')).toContain(message)
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(256 << 10)
})

test('a text of a megabyte and more is not kept', async () => {
  const file = join(folder, 'text.gguf')
  const ofLength = (length: number) =>
    encodeGguf(new Map([['tokenizer.chat_template', { type: 'string', value: 'x'.repeat(length) }]]), [])
  await writeFile(file, ofLength(1e6))
  expect((await describeGguf(file)).chatTemplate).toHaveLength(1e6)
  await writeFile(file, ofLength(2e6))
  expect(await describeGguf(file)).toEqual({})
})

test.each([20_000_000, 2 ** 31 - 1])('a file that claims %i layers is unknown', async (layers) => {
  const file = join(folder, 'layers.gguf')
  const metadata = new Map<string, GgufValue>()
  metadata.set('general.architecture', { type: 'string', value: 'llama' })
  metadata.set('llama.block_count', { type: 'uint32', value: layers })
  const bytes = encodeGguf(metadata, [])
  await writeFile(file, bytes)
  const handle = await open(file)
  const found = await readFileHeader(handle, readGgufFacts).finally(() => handle.close())
  expect(found).toEqual({
    type: 'unknown',
    why: `the header of the file says that the model has ${layers} layers (at most 1024)`,
  })
  expect(await outcomeOf(requireReadableGguf(file))).toContain(`says that the model has ${layers} layers (at most 1024)`)
  const plan = { modelPath: file, slots: 1, flashAttention: true, processBytes: 0 }
  expect((await memoryNeed(plan)).bytes).toBe(bytes.length)
})
