import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { hasPostgres, postgresHint, startPostgres } from '../../support/process/postgres.ts'
import { createServeHome, type ServeProcess } from '../../support/process/serve-process.ts'
import { upstream } from '../../support/upstream/remote-engine.ts'
import { chatChunk, doneLine, openStream } from '../../support/upstream/upstream.ts'

const url = '/v1/chat/completions'
const slots = 4

/** A llama-server that answers lines after a while, and callers when it is told to. */
async function startLlamaServer(lineMs: () => number) {
  const running = { line: 0, caller: 0 }
  let most = 0
  const server = await upstream(
    ({ body }, response) => {
      const kind = JSON.stringify(body).includes('caller') ? 'caller' : 'line'
      running[kind] += 1
      most = Math.max(most, running.line + running.caller)
      response.once('close', () => {
        running[kind] -= 1
      })
      openStream(response)
      response.write(chatChunk({ delta: { role: 'assistant', content: 'Hello.' } }))
      const end = () => response.end(chatChunk({ delta: {}, finish_reason: 'stop' }) + doneLine)
      if (kind === 'line') setTimeout(end, lineMs())
    },
    { ownedBy: 'llamacpp' },
  )
  server.get = (path, response) => {
    if (!path.startsWith('/props')) return false
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ total_slots: slots, default_generation_settings: { n_ctx: 4096 } }))
    return true
  }
  /** The most that ran at once since the last call. */
  const mostNow = () => {
    const before = most
    most = running.line + running.caller
    return before
  }
  return { url: server.url, running, mostNow }
}

const starts = {
  async 'two processes of one server'(models: readonly object[]) {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-one-server-'))
    const home = await createServeHome(join(folder, 'store.db'), { workers: 2 }, { models })
    onTestFinished(async () => {
      await home.remove()
      await rm(folder, { recursive: true, force: true })
    })
    return [await home.start()]
  },
  async 'two servers on one PostgreSQL'(models: readonly object[]) {
    const postgres = await startPostgres()
    const database = await postgres.createDatabase()
    const homes = [await createServeHome(database, {}, { models }), await createServeHome(database, {}, { models })]
    onTestFinished(async () => {
      await Promise.all(homes.map((home) => home.remove()))
      await postgres.stop()
    })
    return Promise.all(homes.map((home) => home.start()))
  },
}

beforeAll(() => buildProgram())

describe.each(Object.entries(starts))('%s in front of one llama-server', (name, start) => {
  const isMissing = name.includes('PostgreSQL') && !hasPostgres
  const hint = isMissing ? postgresHint : ''

  test.skipIf(isMissing)(
    `send it no more lines than it has slots, and fewer beside callers${hint}`,
    { timeout: 120_000 },
    async () => {
      let lineMs = 100
      const llama = await startLlamaServer(() => lineMs)
      const endpoints = [{ url: llama.url }]
      const servers = await start([{ id: 'm', engine: 'remote', upstreamModel: 'up', endpoints, load: 'start' }])
      const [openai] = servers.map((server: ServeProcess) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none' }))
      if (openai === undefined) return expect.unreachable()
      const create = async (count: number) => {
        const lines = Array.from({ length: count }, (_, index) => {
          const body = { model: 'm', messages: [{ role: 'user', content: `line ${index}` }] }
          return JSON.stringify({ custom_id: `${index}`, method: 'POST', url, body })
        })
        const file = await openai.files.create({
          file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'),
          purpose: 'batch',
        })
        return openai.batches.create({ input_file_id: file.id, endpoint: url, completion_window: '24h' })
      }
      const stateOf = async (id: string) => (await openai.batches.retrieve(id)).status

      const { id: short } = await create(200)
      // The processes look for work every two seconds, and hear of each other with their first line.
      await until(async () => ((await openai.batches.retrieve(short)).request_counts?.completed ?? 0) > 100)
      llama.mostNow()
      await until(async () => (await stateOf(short)) === 'completed')
      expect(llama.mostNow()).toBe(slots)

      lineMs = 3_600_000
      const { id: long } = await create(40)
      await until(() => llama.running.line === slots)
      const callers = Array.from({ length: 3 }, async () => {
        const messages = [{ role: 'user' as const, content: 'caller' }]
        return openai.chat.completions.create({ model: 'm', messages, stream: true })
      })
      await until(() => llama.running.caller === 3 && llama.running.line <= 1, 10_000)
      for (const caller of callers) (await caller).controller.abort()
      await until(() => llama.running.caller === 0 && llama.running.line === slots)
      await openai.batches.cancel(long)
      await until(async () => (await stateOf(long)) === 'cancelled')
    },
  )
})
