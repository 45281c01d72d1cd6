import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { blankPng } from '../../test/support/pictures.ts'
import { AppError } from '../contract/errors.ts'
import { allScopes } from '../contract/principal.ts'
import { FileFolder } from './file-folder.ts'
import { createMediaReader } from './reader.ts'
import { UploadedFiles } from './uploaded-files.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-files-'))
})

afterEach(() => rm(folder, { recursive: true }))

const never = new AbortController().signal

function open(options: { readonly maxCount?: number; readonly wallClock?: () => number } = {}) {
  return new UploadedFiles({
    place: new FileFolder(folder),
    maxFileBytes: 1000,
    maxBatchBytes: 2000,
    maxBytes: 2500,
    maxCount: 5,
    ...options,
  })
}

async function* piecesOf(...pieces: readonly (string | Buffer)[]) {
  for (const piece of pieces) yield Buffer.from(piece as string)
}

function add(files: UploadedFiles, owner: string, bytes: AsyncIterable<Uint8Array>, signal = never) {
  return files.add(
    owner,
    { filename: 'a.png', mediaType: 'image/png', bytes, wishes: async () => ({ purpose: 'vision' }) },
    signal,
  )
}

async function textOf(files: UploadedFiles, owner: string, id: string): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of await files.content(owner, id)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

async function namesIn(path: string): Promise<readonly string[]> {
  return (await readdir(path, { recursive: true })).filter((name) => name.includes('/'))
}

test('a file is there for its owner only, also after a restart, until it is deleted', async () => {
  const stored = await add(open(), 'ann', piecesOf('ab', 'c'))
  expect(stored).toMatchObject({ filename: 'a.png', mediaType: 'image/png', sizeBytes: 3, purpose: 'vision' })
  const files = open()
  expect(await files.get('ann', stored.id)).toEqual(stored)
  expect(await files.list('ann')).toEqual([stored])
  expect(await textOf(files, 'ann', stored.id)).toBe('abc')
  expect(await files.list('bob')).toEqual([])
  const others = [() => files.get('bob', stored.id), () => files.content('bob', stored.id), () => files.delete('bob', stored.id)]
  for (const work of others) {
    await expect(work()).rejects.toMatchObject({ code: 'not-found' })
  }
  await files.delete('ann', stored.id)
  await expect(files.get('ann', stored.id)).rejects.toMatchObject({ code: 'not-found' })
  expect(await namesIn(folder)).toEqual([])
})

test('of uploads that end together, as many are kept as there may be', async () => {
  const files = open({ maxCount: 20 })
  const uploads = await Promise.allSettled(Array.from({ length: 40 }, () => add(files, 'ann', piecesOf('abc'))))
  const kept = uploads.filter(({ status }) => status === 'fulfilled')
  expect(kept).toHaveLength(20)
  expect(await files.list('ann')).toHaveLength(20)
  expect(await namesIn(folder)).toHaveLength(40)
})

test('uploads of several processes that end together keep no more than there may be', async () => {
  const processes = Array.from({ length: 4 }, () => open({ maxCount: 10 }))
  await Promise.allSettled(processes.flatMap((files) => Array.from({ length: 10 }, () => add(files, 'ann', piecesOf('abc')))))
  const { length } = await open().list('ann')
  expect(length).toBeGreaterThan(0)
  expect(length).toBeLessThanOrEqual(10)
})

test('other users of the machine cannot read it', async () => {
  await add(open(), 'ann', piecesOf('abc'))
  for (const name of await readdir(folder, { recursive: true })) {
    const { mode } = await stat(join(folder, name))
    expect(mode & 0o077).toBe(0)
  }
})

test.each(['', '.', '..', '../x', '/etc/passwd', 'file-', `file-${'0'.repeat(31)}/`, `file-${'0'.repeat(32)}`, 'a\0'])(
  'the id %j is none',
  async (id) => {
    await add(open(), 'ann', piecesOf('abc'))
    await expect(open().get('ann', id)).rejects.toMatchObject({ code: 'not-found' })
  },
)

test('an owner can have any name', async () => {
  const { id } = await add(open(), '../../etc/passwd\0', piecesOf('abc'))
  expect(await textOf(open(), '../../etc/passwd\0', id)).toBe('abc')
  expect(await namesIn(folder)).toHaveLength(2)
})

test('what is too large stops to arrive, and leaves nothing', async () => {
  let sent = 0
  async function* endless() {
    for (;;) {
      sent += 1
      yield Buffer.alloc(100)
    }
  }
  await expect(add(open(), 'ann', endless())).rejects.toMatchObject({ code: 'body-too-large' })
  expect(sent).toBeLessThan(1000)
  expect(await namesIn(folder)).toEqual([])
})

test('each owner has a room, also for uploads at the same time', async () => {
  const files = open()
  const large = () => piecesOf(Buffer.alloc(900))
  const results = await Promise.allSettled([1, 2, 3, 4].map(() => add(files, 'ann', large())))
  const kept = results.filter(({ status }) => status === 'fulfilled')
  expect(kept.length).toBeLessThanOrEqual(2)
  const { length } = await files.list('ann')
  expect(length).toBe(kept.length)
  expect((await add(files, 'bob', large())).sizeBytes).toBe(900)
  while ((await files.list('ann')).length < 2) await add(files, 'ann', large())
  await expect(add(files, 'ann', large())).rejects.toMatchObject({ code: 'request-conflict' })
  for (let count = 0; count < 3; count += 1) await add(files, 'ann', piecesOf('a'))
  await expect(add(files, 'ann', piecesOf('a'))).rejects.toThrow('media.files.maxCount')
})

test('a cancelled upload ends, though its bytes do not, and leaves nothing', async () => {
  const controller = new AbortController()
  const reason = new AppError('cancelled', 'enough')
  const hanging = new PassThrough()
  hanging.write('a')
  const adding = add(open(), 'ann', hanging, controller.signal).catch((error) => error)
  await expect.poll(() => namesIn(folder)).toHaveLength(1)
  controller.abort(reason)
  expect(await adding).toBe(reason)
  expect(await namesIn(folder)).toEqual([])
})

test('a refused purpose leaves nothing, and what a dead process left goes with time', async () => {
  const wishes = async () => {
    throw new AppError('invalid-request', 'no')
  }
  const files = open()
  await expect(files.add('ann', { filename: 'a', mediaType: 'b', bytes: piecesOf('a'), wishes }, never)).rejects.toThrow('no')
  expect(await namesIn(folder)).toEqual([])
  const [owner = ''] = await readdir(folder)
  const old = join(folder, owner, `file-${'0'.repeat(32)}.part`)
  await writeFile(old, 'a')
  await add(files, 'ann', piecesOf('a'))
  expect((await namesIn(folder)).length).toBe(3)
  await utimes(old, 0, 0)
  await add(files, 'ann', piecesOf('a'))
  expect((await namesIn(folder)).length).toBe(4)
})

test('a request can refer to a file of its caller, and to no other', async () => {
  const files = open()
  const { id } = await add(files, 'ann', piecesOf(blankPng(3, 2)))
  const reader = createMediaReader({ files })
  const read = async (owner: string, file: string) => {
    const item = { kind: 'image', source: { type: 'file', id: file }, at: ['here'] } as const
    const { media } = await reader.read([item], { principal: { id: owner, scopes: allScopes }, signal: never })
    return media[0]
  }
  expect(await read('ann', id)).toMatchObject({
    mediaType: 'image/png',
    width: 3,
    height: 2,
    base64: blankPng(3, 2).toString('base64'),
  })
  const missing = `file-${'0'.repeat(32)}`
  for (const [owner, file] of [
    ['bob', id],
    ['ann', missing],
    ['ann', '../x'],
  ] as const) {
    await expect(read(owner, file)).rejects.toMatchObject({
      code: 'invalid-request',
      at: ['here'],
      message: expect.stringContaining('is not one of your files'),
    })
  }
})

test('results that the server is writing leave the room for uploads', async () => {
  const files = open()
  let end = () => undefined as unknown
  const ended = new Promise((resolve) => {
    end = () => resolve(undefined)
  })
  let begin = () => undefined as unknown
  const begun = new Promise((resolve) => {
    begin = () => resolve(undefined)
  })
  async function* pieces() {
    yield Buffer.alloc(5000)
    yield Buffer.alloc(1)
    begin()
    await ended
  }
  const bytes = pieces()
  const result = {
    filename: 'r',
    mediaType: '',
    bytes,
    wishes: async () => ({ purpose: 'batch_output' }),
    isResult: true as const,
  }
  const writing = files.add('ann', result, never)
  await begun
  await expect(add(files, 'ann', piecesOf(Buffer.alloc(900)))).resolves.toMatchObject({ sizeBytes: 900 })
  end()
  await writing
})

test('a file that has expired is gone at once, gives its room back, and is removed with those of all other callers', async () => {
  let nowMs = Date.now()
  const files = open({ maxCount: 1, wallClock: () => nowMs })
  const upload = { filename: 'a', mediaType: 'b', wishes: async () => ({ lifetimeMs: 3_600_000 }) }
  const { id, expiresAtMs } = await files.add('ann', { ...upload, bytes: piecesOf('a') }, never)
  await files.add('bob', { ...upload, bytes: piecesOf('b') }, never)
  expect(expiresAtMs).toBe(nowMs + 3_600_000)
  nowMs += 3_599_999
  expect(await textOf(files, 'ann', id)).toBe('a')
  nowMs += 1
  expect(await files.list('ann')).toEqual([])
  await expect(files.content('ann', id)).rejects.toMatchObject({ code: 'not-found' })
  await expect(add(files, 'ann', piecesOf('c'))).resolves.toMatchObject({ sizeBytes: 1 })
  nowMs += 600_000
  await files.list('ann')
  await expect.poll(() => namesIn(folder)).toHaveLength(2)
})
