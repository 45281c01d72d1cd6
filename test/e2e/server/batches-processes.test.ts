import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { hasPostgres, postgresHint, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'
import { createServeHome, type ServeProcess } from '../../support/process/serve-process.ts'
import { isFullLength } from '../../support/process/soak-length.ts'

const minuteMs = 60_000
const url = '/v1/chat/completions'
const models = [{ id: 'scripted', engine: 'fake', script: 'from-request', slots: 4 }]
type Home = Awaited<ReturnType<typeof createServeHome>>

const clientOf = (server: ServeProcess) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })

async function create(server: ServeProcess, contents: readonly string[]) {
  const lines = contents.map((content, index) => {
    const body = { model: 'scripted', messages: [{ role: 'user', content }] }
    return `${JSON.stringify({ custom_id: `${index}`, method: 'POST', url, body })}\n`
  })
  const openai = clientOf(server)
  const file = await openai.files.create({ file: await toFile(Buffer.from(lines.join('')), 'in.jsonl'), purpose: 'batch' })
  return openai.batches.create({ input_file_id: file.id, endpoint: url, completion_window: '24h' })
}

const countsOf = async (server: ServeProcess, id: string) => (await clientOf(server).batches.retrieve(id)).request_counts

/** The `custom_id`s of all results, in their order. */
async function resultsOf(server: ServeProcess, id: string): Promise<readonly string[]> {
  const openai = clientOf(server)
  await until(async () => (await openai.batches.retrieve(id)).status === 'completed', 3 * minuteMs)
  const { output_file_id: file } = await openai.batches.retrieve(id)
  const text = await (await openai.files.content(file ?? '')).text()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).custom_id)
}

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `${index}`)
const textTaking = (delayMs: number, text: string) => JSON.stringify({ raw: text, delayMs })

beforeAll(() => buildProgram())

describe('a server with a batch', () => {
  let folder: string
  let home: Home
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-batches-'))
    home = await createServeHome(join(folder, 'store.db'), {}, { models })
  })
  afterAll(async () => {
    await home.remove()
    await rm(folder, { recursive: true, force: true })
  })

  test('has each result once after it was killed again and again', { timeout: 10 * minuteMs }, async () => {
    const [count, kills] = isFullLength ? [10_000, 5] : [300, 2]
    let server = await home.start()
    const { id } = await create(
      server,
      idsOf(count).map((text) => textTaking(40, text)),
    )
    for (let kill = 1; kill <= kills; kill += 1) {
      const least = (count * kill) / (kills + 1)
      await until(async () => ((await countsOf(server, id))?.completed ?? 0) >= least, 3 * minuteMs)
      await server.kill()
      server = await home.start()
    }
    expect(await resultsOf(server, id)).toEqual(idsOf(count))
    await server.stop()
  })

  test('goes on with it immediately after an orderly restart', { timeout: minuteMs }, async () => {
    let server = await home.start()
    const { id } = await create(
      server,
      idsOf(40).map((text) => textTaking(100, text)),
    )
    await until(async () => ((await countsOf(server, id))?.completed ?? 0) > 0)
    await server.stop()
    server = await home.start()
    expect(await resultsOf(server, id)).toEqual(idsOf(40))
    await server.stop()
  })

  test('answers who waits before the lines that hold all slots', { timeout: minuteMs }, async () => {
    const server = await home.start()
    const { id } = await create(
      server,
      idsOf(8).map((text) => textTaking(3_600_000, text)),
    )
    const openai = clientOf(server)
    const load = async () =>
      (await (await fetch(`${server.url}/metrics`)).text()).includes('dragoman_slots_busy{model="scripted"} 4')
    await until(load)
    const reply = await openai.chat.completions.create({ model: 'scripted', messages: [{ role: 'user', content: 'Hello.' }] })
    expect(reply.choices[0]?.message.content).toBe('Hello.')
    await openai.batches.cancel(id)
    await until(async () => (await openai.batches.retrieve(id)).status === 'cancelled')
    expect(await countsOf(server, id)).toEqual({ total: 8, completed: 0, failed: 0 })
    await server.stop()
  })
})

describe.skipIf(!hasPostgres)(`two servers on one PostgreSQL${postgresHint}`, () => {
  let postgres: TestPostgres
  let homes: readonly Home[] = []
  beforeAll(async () => {
    postgres = await startPostgres()
    const database = await postgres.createDatabase()
    homes = [await createServeHome(database, {}, { models }), await createServeHome(database, {}, { models })]
  })
  afterAll(async () => {
    await Promise.all(homes.map((home) => home.remove()))
    await postgres.stop()
  })
  let servers: ServeProcess[] = []
  afterEach(() => Promise.all(servers.map((server) => server.stop())))

  test('share the lines of a batch', { timeout: 3 * minuteMs }, async () => {
    servers = await Promise.all(homes.map((home) => home.start()))
    const [here, there] = servers as [ServeProcess, ServeProcess]
    const { id } = await create(
      here,
      idsOf(400).map((text) => textTaking(60, text)),
    )
    expect(await resultsOf(there, id)).toEqual(idsOf(400))
    const answered = await Promise.all(
      servers.map(async (server) => {
        const text = await (await fetch(`${server.url}/metrics`)).text()
        return Number(/dragoman_key_requests_total\{[^}]*\} (\d+)/.exec(text)?.[1] ?? 0)
      }),
    )
    expect(Math.min(...answered)).toBeGreaterThan(80)
  })
})
