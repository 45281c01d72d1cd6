import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { roundsOf } from '../../test/support/process/soak-length.ts'
import { type App, createApp } from '../app/create-app.ts'
import { loadConfig } from '../config/load.ts'
import { ConfigReloader } from './config-reloader.ts'

const head = `modelsFolder: models # so that no model is fetched where the list of models is cut
builtinModel: false
storage: off
`
const models = `models:
  - id: echo
    engine: fake
    script: from-request
  - { id: other, engine: fake, script: from-request, aliases: [default] }
`
const server = `server:
  port: 0
  keyLimits: { requestsPerMinute: 100000 }
  apiKeys:
    # of the clients
    - a-long-random-text
    - { key: another-long-text, name: monitoring, scopes: [metrics] }
    - key: the-long-text-of-a-guest
      models: [echo]
  adminKey: a-third-long-text
  heartbeatMs: 10000
`
const whole = `${head}${models}${server}`
const others = [`${head}${server}${models}`, `${head}${server.replace('adminKey', 'bodyLimitBytes: 1024\n  adminKey')}`]
/** What editors, disks and scripts leave of a file. */
// biome-ignore format: a table
const emptied = [
  ...['', '\n', ' \n\n', '\t', '\uFEFF', '---\n', '---\n...\n', '# nothing\n', '#', 'null\n', '~', '{}', '{ }\n', '[]', '""', '0'],
  ...['server:', 'server: {}', 'server: ~', 'server: { apiKeys: [] }', 'server: { apiKeys: }', 'server: { apiKeys: ~ }'],
  ...['server: { apiKeys: [""] }', 'server: { adminKey: "" }', 'server: { adminKey: ~ }', 'builtinModel: false', 'storage: off'],
  ...['modelsFolder: models', head, `${head}${models}`, '\0'.repeat(64), `${whole.slice(0, 40)}${'\0'.repeat(200)}`],
].map((text) => ({ before: whole, text }))

const placesPerText = roundsOf(14, 56)
/** The texts, cut at places that are spread over them. */
const cuts = [whole, ...others].flatMap((before) =>
  Array.from({ length: placesPerText }, (_, at) => ({
    before,
    text: before.slice(0, Math.floor(((at + 0.5) * before.length) / placesPerText)),
  })),
)

let folder: string
let app: App
let reloader: ConfigReloader
const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() }
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-reload-keys-'))
  await mkdir(join(folder, 'models'))
  const path = join(folder, 'dragoman.yaml')
  await writeFile(path, whole)
  const load = () => loadConfig({ flags: { config: path }, env: { DRAGOMAN_HOME: folder }, cwd: folder, userHome: folder })
  app = await createApp(await load(), { log: pino({ level: 'silent' }) })
  reloader = new ConfigReloader({ path, log, load, apply: (next) => app.reconfigure(next) })
})
afterAll(async () => {
  reloader.close()
  await app.close()
  await rm(folder, { recursive: true })
})

const statusOf = async (key?: string) => {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return (await app.fetch(new Request('http://127.0.0.1/v1/models', { headers }))).status
}

async function reloaded(text: string): Promise<void> {
  await writeFile(join(folder, 'dragoman.yaml'), text)
  await reloader.reload()
}

test('no cut or emptied file takes the last key of a running server away, and the whole one is taken again', async () => {
  expect(cuts.length + emptied.length).toBeGreaterThanOrEqual(roundsOf(70, 200))
  for (const { before, text } of [...cuts, ...emptied]) {
    await reloaded(before)
    const [, during] = await Promise.all([reloaded(text), statusOf()])
    expect([during, await statusOf(), text]).toEqual([401, 401, text])
    // Half a key is not a key.
    expect([await statusOf('a-long-random-text'), text]).toEqual([200, text])
    if (emptied.some((other) => other.text === text)) expect([log.error.mock.calls.length, text]).toEqual([1, text])
    log.error.mockClear()
  }
  await reloaded(whole)
  expect([await statusOf('a-long-random-text'), log.error.mock.calls]).toEqual([200, []])
})

test('the log says why a file without keys was not taken, and keys can be exchanged', async () => {
  await reloaded(`${head}${models}`)
  const [entry] = log.error.mock.calls[0] ?? []
  expect(entry.reason).toMatch(/no key any more \(server\.apiKeys, server\.adminKey\).+restart the server to serve without/)
  await reloaded(`${head}${models}server: { adminKey: another-key }\n`)
  expect([await statusOf('a-long-random-text'), await statusOf('another-key')]).toEqual([401, 200])
})
