import fs, { appendFile, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { loadConfig } from '../config/load.ts'
import { ConfigReloader } from './config-reloader.ts'

/** Runs between a read of the file and its result. */
let afterRead: (() => Promise<void>) | undefined
const actual = readFile
/** What modules import by its name is this one. */
function replaceRead(read: unknown): void {
  Object.assign(fs, { readFile: read })
  syncBuiltinESMExports()
}
replaceRead(async (...args: Parameters<typeof actual>) => {
  const text = await actual(...args)
  await afterRead?.()
  return text
})
afterAll(() => replaceRead(actual))

let folder: string
let reloader: ConfigReloader
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-reload-'))
})
afterEach(async () => {
  afterRead = undefined
  reloader.close()
  await rm(folder, { recursive: true })
})

const withPort = (port: number | string) => `server: { port: ${port} }\n`

async function watching(path = join(folder, 'dragoman.yaml')) {
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
  const ports: number[] = []
  reloader = new ConfigReloader({
    path,
    log,
    load: () => loadConfig({ flags: { config: path }, env: {}, cwd: folder, userHome: folder }),
    apply: async ({ server }) => void ports.push(server.port),
  })
  await reloader.watch()
  return { path, log, ports }
}

test('a file that is written, or replaced by another one, is reloaded', async () => {
  await writeFile(join(folder, 'dragoman.yaml'), withPort(1))
  const { path, ports } = await watching()
  await writeFile(path, withPort(2))
  await expect.poll(() => ports).toEqual([2])
  await writeFile(`${path}.new`, withPort(3))
  await rename(`${path}.new`, path)
  await expect.poll(() => ports).toEqual([2, 3])
  await rm(path)
  await pause(200)
  await writeFile(path, withPort(4))
  await expect.poll(() => ports).toEqual([2, 3, 4])
})

test('a link whose target changes is reloaded', async () => {
  for (const name of ['a', 'b']) {
    await mkdir(join(folder, name))
    await writeFile(join(folder, name, 'dragoman.yaml'), withPort(name === 'a' ? 1 : 2))
  }
  // As Kubernetes mounts its configurations.
  await symlink('a', join(folder, 'data'))
  await symlink(join('data', 'dragoman.yaml'), join(folder, 'dragoman.yaml'))
  const { ports } = await watching()
  await symlink('b', join(folder, 'data.new'))
  await rename(join(folder, 'data.new'), join(folder, 'data'))
  await expect.poll(() => ports).toEqual([2])
})

test('a change while the file is read is not missed', async () => {
  await writeFile(join(folder, 'dragoman.yaml'), withPort(1))
  const { path, ports } = await watching()
  afterRead = async () => {
    afterRead = undefined
    await writeFile(path, withPort(2))
    await pause(100)
  }
  // Has the file read. Writing the file itself may take until after the read.
  await writeFile(join(folder, 'other.yaml'), '')
  await expect.poll(() => ports).toEqual([2])
})

test('a read that ends after a later one was reloaded changes nothing', async () => {
  await writeFile(join(folder, 'dragoman.yaml'), withPort(1))
  const { path, ports } = await watching()
  let hasEnded = false
  afterRead = async () => {
    afterRead = undefined
    await writeFile(path, withPort(2))
    await expect.poll(() => ports).toEqual([2])
    hasEnded = true
  }
  await writeFile(join(folder, 'other.yaml'), '')
  await expect.poll(() => hasEnded).toBe(true)
  await pause(300)
  expect(ports).toEqual([2])
})

test('a file whose text is the same, and other files, change nothing; a reload that is asked for does', async () => {
  await writeFile(join(folder, 'dragoman.yaml'), withPort(1))
  const { path, ports } = await watching()
  await writeFile(path, withPort(1))
  await writeFile(join(folder, 'other.yaml'), withPort(2))
  await pause(300)
  expect(ports).toEqual([])
  await reloader.reload()
  expect(ports).toEqual([1])
})

test('a log that is written beside the file does not have it read', async () => {
  await writeFile(join(folder, 'dragoman.yaml'), withPort(1))
  const log = join(folder, 'server.log')
  await writeFile(log, '')
  await watching()
  await pause(150)
  let reads = 0
  afterRead = async () => {
    reads += 1
  }
  for (let line = 0; line < 5; line++) {
    await appendFile(log, 'a line\n')
    await pause(60)
  }
  expect(reads).toBe(0)
})

test('an invalid file changes nothing, and its problems are logged once, with their lines', async () => {
  await writeFile(join(folder, 'dragoman.yaml'), withPort(1))
  const { path, log, ports } = await watching()
  await writeFile(path, `${withPort('many')}sampling: 5\n`)
  await expect.poll(() => log.error.mock.calls).toHaveLength(1)
  const [entry, message] = log.error.mock.calls[0] ?? []
  expect(message).toBe('dragoman.yaml was not reloaded: the previous configuration stays in use')
  expect(entry).toEqual({
    reason: expect.stringMatching(/^the configuration is invalid:\n {2}.+:1: server\.port: .+\n {2}.+:2: sampling: /),
  })
  await writeFile(join(folder, 'other.yaml'), '')
  await pause(300)
  expect(log.error).toHaveBeenCalledOnce()
  await writeFile(path, withPort(2))
  await expect.poll(() => ports).toEqual([2])
})
