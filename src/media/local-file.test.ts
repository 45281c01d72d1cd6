import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm, symlink, truncate, unlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AppError } from '../contract/errors.ts'
import { defaultLimits } from './limits.ts'
import { isLocal, readLocalFile } from './local-file.ts'

const item = { kind: 'image', source: { type: 'url', url: '' }, at: ['here'] } as const
const limits = { ...defaultLimits, maxBytes: { ...defaultLimits.maxBytes, image: 5000 } }

let base: string
let folder: string

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'dragoman-media-'))
  folder = join(base, 'safe')
  await mkdir(join(folder, 'deep'), { recursive: true })
  await mkdir(join(base, 'safe_evil'))
  await writeFile(join(folder, 'a picture.png'), 'good')
  await writeFile(join(folder, 'deep', 'b.png'), 'deep')
  await writeFile(join(base, 'safe_evil', 'c.png'), 'secret')
  await writeFile(join(base, 'secret'), 'secret')
})

afterEach(() => rm(base, { recursive: true }))

async function read(url: string, from: string | undefined = folder, signal = new AbortController().signal) {
  return (await readLocalFile(url, { item, signal }, { folder: from, limits })).toString()
}

test('a file of the folder is read by its path and as a file: URL', async () => {
  const path = join(folder, 'a picture.png')
  expect(await read(path)).toBe('good')
  expect(await read(pathToFileURL(path).href)).toBe('good')
  expect(await read(`file://localhost${pathToFileURL(path).pathname}`)).toBe('good')
  expect(await read(join(folder, 'deep', 'b.png'))).toBe('deep')
  expect(await read(`${folder}/deep/../a picture.png`)).toBe('good')
})

test('the folder may be a link, and a link may lead to another place in it', async () => {
  await symlink(folder, join(base, 'link'))
  await symlink(join(folder, 'deep', 'b.png'), join(folder, 'within.png'))
  expect(await read(join(base, 'link', 'a picture.png'), join(base, 'link'))).toBe('good')
  expect(await read(join(folder, 'within.png'))).toBe('deep')
})

test.each(['file:///a', 'FILE:///a', 'file:a', '/etc/passwd'])('%s is local', (url) => expect(isLocal(url)).toBe(true))
test.each(['https://a', 'a.png', '../a', 'data:,a', ''])('%j is not', (url) => expect(isLocal(url)).toBe(false))

describe('nothing but the folder is read:', () => {
  const refusal = 'is not a file that may be read'

  beforeEach(async () => {
    await symlink(join(base, 'secret'), join(folder, 'out.png'))
    await symlink(base, join(folder, 'up'))
    await symlink('/dev/zero', join(folder, 'zero.png'))
    execFileSync('mkfifo', [join(folder, 'fifo.png')])
  })

  test.each([
    'BASE/secret',
    'BASE/safe/../secret',
    'BASE/safe/deep/../../secret',
    'BASE/safe_evil/c.png',
    'BASE/safe/../safe_evil/c.png',
    'BASE/safe',
    'BASE/safe/',
    'BASE/safe/deep',
    'BASE/safe/out.png',
    'BASE/safe/up/secret',
    'BASE/safe/up/safe_evil/c.png',
    'BASE/safe/zero.png',
    'BASE/safe/fifo.png',
    'BASE/safe/missing.png',
    'BASE/safe/a picture.png\0.txt',
    'file://BASE/secret',
    'file://BASE/safe/%2e%2e/secret',
    'file://BASE/safe/..%2fsecret',
    'file://BASE/safe/%2E%2E%2Fsecret',
    'file://BASE/safe/..%5c..%5csecret',
    'file://BASE/safe/..\\secret',
    'file://BASE/safe/%00',
    'file://evil.example/BASE/safe/deep/b.png',
    'file:///',
    'file:secret',
    '/etc/passwd',
    '/dev/zero',
    '/dev/stdin',
    '/proc/self/environ',
    '/proc/self/root/etc/passwd',
    'file:///dev/fd/0',
  ])('the reader refuses the path %s', async (path) => {
    const url = path.replace('BASE', base)
    await expect(read(url)).rejects.toMatchObject({
      code: 'invalid-request',
      at: ['here'],
      message: expect.stringContaining(refusal),
    })
  })

  test('a socket', async () => {
    const server = createServer().listen(join(folder, 'socket.png'))
    await expect(read(join(folder, 'socket.png'))).rejects.toThrow(refusal)
    server.close()
  })

  test('also while links and names change', async () => {
    const path = join(folder, 'turning.png')
    const turns = (async () => {
      for (let turn = 0; turn < 300; turn += 1) {
        await symlink(turn % 2 === 0 ? join(base, 'secret') : join(folder, 'deep', 'b.png'), `${path}.new`)
        await rename(`${path}.new`, path)
      }
    })()
    const found = new Set<string>()
    let isOver = false
    void turns.finally(() => {
      isOver = true
    })
    while (!isOver) found.add(await read(path).catch((error: AppError) => error.code))
    await turns
    expect([...found].sort()).not.toContain('secret')
  })

  test('and a missing file gets the same error as one outside', async () => {
    const messageOf = async (path: string) => read(path).catch(({ message }) => message)
    expect(await messageOf('/etc/passwd')).toBe(await messageOf('/etc/there-is-no-such-file'))
    expect(await messageOf(join(base, 'secret'))).toBe(await messageOf(join(folder, 'missing.png')))
  })
})

test('without a folder, every path gets the same error', async () => {
  const messageOf = async (path: string) =>
    readLocalFile(path, { item, signal: new AbortController().signal }, { folder: undefined, limits }).catch((e) => e)
  const error = await messageOf(join(folder, 'a picture.png'))
  expect(error).toMatchObject({ code: 'unsupported-field', message: expect.stringContaining('media.allowedLocalPath') })
  expect((await messageOf('/etc/no')).message).toBe(error.message)
})

test('a file that is too large is not read, nor one without an end', async () => {
  await writeFile(join(folder, 'large.png'), '')
  await truncate(join(folder, 'large.png'), 10 ** 12)
  await expect(read(join(folder, 'large.png'))).rejects.toThrow('more than the limit (media.maxBytes.image')
})

test('nothing is left open', async () => {
  const open = async () => (await readdir('/proc/self/fd').catch(() => [])).length
  const before = await open()
  for (let turn = 0; turn < 50; turn += 1) {
    await read(join(folder, 'deep', 'b.png'))
    await read(join(folder, 'missing.png')).catch(() => undefined)
  }
  expect(await open()).toBeLessThan(before + 20)
})

test('a cancelled read ends with the reason', async () => {
  const reason = new AppError('cancelled', 'enough')
  await expect(read(join(folder, 'deep', 'b.png'), folder, AbortSignal.abort(reason))).rejects.toBe(reason)
  await unlink(join(folder, 'deep', 'b.png'))
})
