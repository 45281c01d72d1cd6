import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encodeGguf } from '../../../test/support/llama/gguf-writer.ts'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { parseSource } from '../names/sources.ts'
import { ensureModelFile, type ModelFileOptions } from './fetch-model.ts'

const content = Buffer.concat([Buffer.from('GGUF'), randomBytes(10_000)])
const sha256 = createHash('sha256').update(content).digest('hex')
const otherSha256 = 'f'.repeat(64)

type Seen = { readonly url: string | undefined; readonly headers: IncomingHttpHeaders }

async function setUp() {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-models-'))
  const seen: Seen[] = []
  const { origin, close } = await listenOnLoopback(({ url, headers }, response) => {
    seen.push({ url, headers })
    if (url?.endsWith('page.gguf')) response.end('<!DOCTYPE html><title>Sign in</title>')
    else if (url?.endsWith('.gguf')) response.end(content)
    else response.writeHead(404).end()
  })
  onTestFinished(async () => {
    await close()
    await rm(home, { recursive: true })
  })
  const notes: string[] = []
  const ensure = (sources: string[], options: Partial<ModelFileOptions> = {}) => {
    const given = { home, env: { HF_ENDPOINT: `${origin}/` }, onNote: (note: string) => notes.push(note), ...options }
    return ensureModelFile(sources.map(parseSource), given)
  }
  const local = join(home, 'mine.gguf')
  await writeFile(local, content)
  return { home, origin, notes, seen, ensure, local }
}

describe('a remote file', () => {
  test('a remote file is fetched once', async () => {
    const { ensure, home, seen, notes } = await setUp()
    const file = join(home, 'models', 'hf/o/r/v1/q%204/x.gguf')
    expect(await ensure(['hf:o/r/q 4/x.gguf@v1'])).toBe(file)
    expect(content.equals(await readFile(file))).toBe(true)
    expect(seen.map(({ url }) => url)).toEqual(['/o/r/resolve/v1/q%204/x.gguf'])
    expect(notes).toEqual(['fetching hf:o/r/q 4/x.gguf@v1'])
    expect(await ensure(['hf:o/r/q 4/x.gguf@v1'], { sha256 })).toBe(file)
    expect(seen).toHaveLength(1)
  })

  test('a remote file is fetched once by concurrent callers', async () => {
    const { ensure, seen, notes } = await setUp()
    await Promise.all([ensure(['hf:o/r/x.gguf']), ensure(['hf:o/r/x.gguf'])])
    expect(seen).toHaveLength(1)
    expect(notes.some((note) => note.endsWith('is already fetching hf:o/r/x.gguf; waiting for it'))).toBe(true)
  })

  test('a remote file is fetched again when it was changed on disk', async () => {
    const { ensure, seen } = await setUp()
    const file = await ensure(['hf:o/r/x.gguf'])
    await writeFile(file, 'damaged')
    await ensure(['hf:o/r/x.gguf'])
    expect(seen).toHaveLength(2)
    expect(content.equals(await readFile(file))).toBe(true)
  })

  test('a remote file is not fetched again when only its time changed', async () => {
    const { ensure, seen } = await setUp()
    const file = await ensure(['hf:o/r/x.gguf'])
    await utimes(file, new Date(0), new Date(0))
    await ensure(['hf:o/r/x.gguf'])
    expect(seen).toHaveLength(1)
  })

  test('a remote file that was put there by hand is used only with the right checksum', async () => {
    const { ensure, seen, home } = await setUp()
    const folder = join(home, 'models', 'hf', 'o', 'r', 'main')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'x.gguf'), content)
    await writeFile(join(folder, 'y.gguf'), 'anything')
    await ensure(['hf:o/r/x.gguf'], { sha256 })
    expect(seen).toHaveLength(0)
    await ensure(['hf:o/r/y.gguf'])
    expect(seen).toHaveLength(1)
  })

  test('a remote file with another checksum than the configured one is not kept', async () => {
    const { ensure } = await setUp()
    const message = `hf:o/r/x.gguf: the file's SHA-256 is ${sha256}, but the configuration says ${otherSha256}`
    await expect(ensure(['hf:o/r/x.gguf'], { sha256: otherSha256 })).rejects.toThrow(message)
  })

  test('a remote file that is not a GGUF file is reported with its beginning, and not kept', async () => {
    const { ensure, seen } = await setUp()
    const message = 'hf:o/r/page.gguf: this is not a GGUF file; it begins with "<!DOCTYPE html><title>Sign in</title>"'
    for (const requests of [1, 2]) {
      await expect(ensure(['hf:o/r/page.gguf'])).rejects.toThrow(message)
      expect(seen).toHaveLength(requests)
    }
  })

  test('a remote file that was kept although it is not a GGUF file is fetched again', async () => {
    const { ensure, seen, home } = await setUp()
    const folder = join(home, 'models', 'hf', 'o', 'r', 'main')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'x.gguf'), '<html>')
    const record = { sha256: createHash('sha256').update('<html>').digest('hex'), sizeBytes: 0, mtimeMs: 0 }
    await writeFile(join(folder, 'x.gguf.sha256'), JSON.stringify(record))
    expect(content.equals(await readFile(await ensure(['hf:o/r/x.gguf'])))).toBe(true)
    expect(seen).toHaveLength(1)
  })

  test('a remote file is requested with the token of the environment', async () => {
    const { ensure, seen, origin } = await setUp()
    await ensure(['hf:o/r/x.gguf'], { env: { HF_ENDPOINT: origin, HF_TOKEN: 'secret' } })
    await ensure([`${origin}/y.gguf`], { env: { HF_TOKEN: 'secret' } })
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret', undefined])
  })

  test('a remote file is not requested over plain HTTP', async () => {
    const { ensure } = await setUp()
    await expect(ensure(['hf:o/r/x.gguf'], { env: { HF_ENDPOINT: 'http://example.com' } })).rejects.toThrow(
      "HF_ENDPOINT is 'http://",
    )
  })
})

describe('alternatives', () => {
  test('alternatives are tried in order, and a fallback is announced with its reason', async () => {
    const { ensure, home, origin, notes } = await setUp()
    const file = await ensure([`${origin}/missing`, 'hf:o/r/x.gguf'])
    expect(file).toBe(join(home, 'models', 'hf/o/r/main/x.gguf'))
    expect(notes[1]).toMatch(/^http:\S+\/missing: \S+ has no such file \(status 404\); check its name; trying hf:o\/r\/x\.gguf$/)
  })

  test('alternatives that were fetched before are used without requesting earlier ones', async () => {
    const { ensure, origin, seen } = await setUp()
    const sources = [`${origin}/missing`, 'hf:o/r/x.gguf']
    const file = await ensure(sources)
    expect(await ensure(sources)).toBe(file)
    expect(seen).toHaveLength(2)
  })

  test('alternatives that all fail are reported together', async () => {
    const { ensure, origin } = await setUp()
    const failing = ensure([`${origin}/one`, '/missing.gguf'])
    await expect(failing).rejects.toMatchObject({ code: 'model-unavailable' })
    await expect(failing).rejects.toThrow(
      /the file was not fetched\. Tried:\n {2}http:.*\/one: .*404.*\n {2}\/missing.gguf: .*there is no such file/,
    )
  })

  test('alternatives are not tried after an abort', async () => {
    const { ensure, origin, seen } = await setUp()
    const controller = new AbortController()
    const reason = new Error('stop')
    const onNote = () => controller.abort(reason)
    await expect(ensure([`${origin}/one`, `${origin}/two`], { signal: controller.signal, onNote })).rejects.toBe(reason)
    expect(seen).toHaveLength(0)
  })
})

describe('a local file', () => {
  test('a local file is used in place', async () => {
    const { ensure, local, seen } = await setUp()
    expect(await ensure([local, 'hf:o/r/x.gguf'])).toBe(local)
    expect(await ensure([local], { sha256 })).toBe(local)
    expect(seen).toHaveLength(0)
  })

  test('a local file is only the fallback after a remote one', async () => {
    const { ensure, local, origin } = await setUp()
    expect(await ensure(['hf:o/r/x.gguf', local])).not.toBe(local)
    expect(await ensure([`${origin}/missing`, local])).toBe(local)
  })

  test('a local file with another checksum than the configured one is refused', async () => {
    const { ensure, local } = await setUp()
    const message = `the file's SHA-256 is ${sha256}, but the configuration says ${otherSha256}`
    await expect(ensure([local], { sha256: otherSha256 })).rejects.toThrow(message)
    await expect(ensure([local], { sha256: otherSha256 })).rejects.toThrow(message)
  })

  test.each([
    ['', 'the file is empty'],
    [
      'version https://git-lfs.github.com/spec/v1\n',
      'this is not a GGUF file but a pointer of Git LFS: fetch the file itself (git lfs pull)',
    ],
    ['\0\u0001\u0002PK', 'this is not a GGUF file'],
    ['hf_secret_secret_secret', 'this is not a GGUF file'],
  ])('with the content %j is refused, and not shown', async (text, message) => {
    const { ensure, local } = await setUp()
    await writeFile(local, text)
    await expect(ensure([local])).rejects.toMatchObject({ message: `${local}: ${message}` })
  })

  test.each([
    ['m-00001-of-00003.gguf', 'a part of this split model is missing: put m-00003-of-00003.gguf beside the first'],
    ['m-00002-of-00003.gguf', 'this is a later part of a split model: name its first, m-00001-of-00003.gguf'],
  ])('a local file that is one of several, %s, is refused without them', async (name, message) => {
    const { ensure, home } = await setUp()
    for (const part of [1, 2]) await writeFile(join(home, `m-0000${part}-of-00003.gguf`), encodeGguf(new Map(), []))
    await expect(ensure([join(home, name)])).rejects.toMatchObject({ message: `${join(home, name)}: ${message}` })
    await writeFile(join(home, 'm-00003-of-00003.gguf'), encodeGguf(new Map(), []))
    expect(await ensure([join(home, 'm-00001-of-00003.gguf')])).toBe(join(home, 'm-00001-of-00003.gguf'))
  })

  test('a local file must not be a folder', async () => {
    const { ensure, home } = await setUp()
    await expect(ensure([home])).rejects.toThrow('this is a folder; name a .gguf file in it')
  })
})
