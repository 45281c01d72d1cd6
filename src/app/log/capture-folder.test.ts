import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startApp } from '../../../test/support/http/app.ts'
import { canMount, mountHint, smallDisk } from '../../../test/support/process/small-disk.ts'
import { replay } from '../../cli/replay.ts'
import { openCaptureFolder } from './capture-folder.ts'
import { createLog } from './log.ts'

const request = {
  client: 'c',
  version: '1',
  how: '',
  method: 'GET',
  path: '/v1/models',
  headers: {},
  body: null,
  isAllowed: true,
}

/** As captures are named, with these ids; the later ones came later. */
const nameOf = (id: string) => `2026-01-01T00-00-0${'abc'.indexOf(id)}.000Z-${id}`

async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-captures-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

test('each request is a file that only this user can read, and the oldest go', async () => {
  const folder = join(await folderForTest(), 'new')
  const size = Buffer.byteLength(`${JSON.stringify(request, null, 2)}\n`)
  const first = openCaptureFolder(folder, createLog({ level: 'silent' }), 2 * size)
  first.keep(nameOf('a'), request)
  first.keep(nameOf('b'), request)
  await first.close()
  expect(JSON.parse(await readFile(join(folder, `${nameOf('a')}.json`), 'utf8'))).toEqual(request)
  expect((await stat(join(folder, `${nameOf('a')}.json`))).mode & 0o777).toBe(0o600)
  const again = openCaptureFolder(folder, createLog({ level: 'silent' }), 2 * size)
  again.keep(nameOf('c'), request)
  await again.close()
  expect((await readdir(folder)).sort()).toEqual([`${nameOf('b')}.json`, `${nameOf('c')}.json`])
})

test('other files of the folder stay, and count for nothing', async () => {
  const folder = await folderForTest()
  const own = ['0-my-notes.json', '2026-01-01.json', 'x.json']
  await writeFile(join(folder, '0-my-notes.json'), ' '.repeat(10_000))
  await writeFile(join(folder, '2026-01-01.json'), ' '.repeat(10_000))
  await symlink('nowhere', join(folder, 'x.json'))
  await symlink('nowhere', join(folder, `${nameOf('b')}.json`))
  const captures = openCaptureFolder(folder, createLog({ level: 'silent' }), 1000)
  captures.keep(nameOf('a'), request)
  captures.keep(nameOf('c'), request)
  await captures.close()
  expect((await readdir(folder)).sort()).toEqual([
    ...own.slice(0, 2),
    ...['a', 'b', 'c'].map((id) => `${nameOf(id)}.json`),
    'x.json',
  ])
})

test.skipIf(!canMount)(`a full disk leaves no torn captures${mountHint}`, async () => {
  const { folder, fill, free } = await smallDisk()
  const captures = openCaptureFolder(folder, createLog({ level: 'silent' }))
  fill()
  captures.keep(nameOf('a'), request)
  await captures.close()
  expect(await captures.find('a')).toBeUndefined()
  expect(await readdir(folder)).toEqual(['fill'])
  free()
  captures.keep(nameOf('b'), request)
  await captures.close()
  expect(await captures.find('b')).toEqual(request)
})

test('a capture that was written in part is none', async () => {
  const folder = await folderForTest()
  await writeFile(join(folder, `${nameOf('a')}.json`), '{"client":')
  const captures = openCaptureFolder(folder, createLog({ level: 'silent' }))
  expect(await captures.find('a')).toBeUndefined()
})

test('a folder that cannot be made stops the start', async () => {
  const file = join(await folderForTest(), 'file')
  await writeFile(file, '')
  const open = () => openCaptureFolder(join(file, 'folder'), createLog({ level: 'silent' }))
  expect(open).toThrow(
    expect.objectContaining({ code: 'invalid-request', message: expect.stringContaining('log.captureFolder') }),
  )
})

test('a folder that is gone is said once, and stops nobody', async () => {
  const folder = join(await folderForTest(), 'gone')
  const lines: string[] = []
  const log = createLog({ level: 'info', destination: { write: (line: string) => void lines.push(line) } })
  const captures = openCaptureFolder(folder, log)
  await rm(folder, { recursive: true })
  captures.keep(nameOf('a'), request)
  captures.keep(nameOf('b'), request)
  await captures.close()
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['requests cannot be captured'])
})

test('what was captured is sent again', async () => {
  const folder = await folderForTest()
  const app = await startApp({
    models: [{ engine: 'fake', id: 'echo', script: 'from-request' }],
    builtinModel: false,
    log: { captureFolder: folder },
    server: { apiKeys: ['sk-right'] },
  })
  onTestFinished(() => app.close())
  const ask = (key: string) =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'hello' }] }),
    })
  expect((await ask('sk-right')).status).toBe(200)
  await expect.poll(() => readdir(folder)).toHaveLength(1)
  const [name = ''] = await readdir(folder)
  expect(await readFile(join(folder, name), 'utf8')).not.toContain('sk-right')
  const printed: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
  vi.spyOn(console, 'error').mockImplementation((line) => void printed.push(String(line)))
  onTestFinished(() => void vi.restoreAllMocks())
  expect(await replay({ url: app.url, apiKey: 'sk-right' }, [join(folder, name)])).toBe(0)
  expect(printed).toEqual(['POST /v1/chat/completions: 200', expect.stringContaining('"content":"hello"'), '\n'])
  expect(await replay({ url: app.url, apiKey: 'sk-wrong' }, [join(folder, name)])).toBe(1)
  await expect(replay({ url: app.url }, [join(folder, 'none.json')])).rejects.toThrow('none.json cannot be read')
})

test("a replay leaves out what its caller was not allowed, and writes no terminal's commands", async () => {
  const folder = await folderForTest()
  const app = await startApp({
    models: [{ engine: 'fake', id: 'echo', script: 'from-request' }],
    builtinModel: false,
    log: { captureFolder: folder },
    server: { apiKeys: ['sk-right'], adminKey: 'sk-admin' },
  })
  onTestFinished(() => app.close())
  const made = await fetch(`${app.url}/api/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-admin' },
    body: JSON.stringify({ name: 'alice' }),
  })
  const { id } = (await made.json()) as { readonly id: string }
  for (const headers of [{}, { authorization: 'Bearer sk-right' }]) {
    await fetch(`${app.url}/api/keys/${id}`, { method: 'DELETE', headers })
  }
  await expect.poll(() => readdir(folder)).toHaveLength(3)
  const files = (await readdir(folder)).sort().map((name) => join(folder, name))
  const own = join(folder, 'own.json')
  await writeFile(own, JSON.stringify({ ...request, path: '/v1/models?\u001b[2J', isAllowed: undefined }))
  const printed: string[] = []
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  vi.spyOn(console, 'error').mockImplementation((line) => void printed.push(String(line)))
  onTestFinished(() => void vi.restoreAllMocks())
  const server = { url: app.url, apiKey: 'sk-admin' }
  const leftOut = `DELETE /api/keys/${id}: left out: its caller was not allowed that, or left first; --all sends it`
  await replay(server, [...files.slice(1), own])
  expect(printed).toEqual([leftOut, leftOut, 'GET /v1/models?\\u001b[2J: 200'])
  await replay(server, files.slice(1, 2), { all: true })
  expect(printed.at(-1)).toBe(`DELETE /api/keys/${id}: 200`)
})
