import { createReadStream, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../support/http/app.ts'
import { buildProgram } from '../support/process/built-program.ts'
import { createServeHome, type ServeProcess } from '../support/process/serve-process.ts'
import { soakLength } from '../support/process/soak-length.ts'

const minuteMs = 60_000
const url = '/v1/chat/completions'
const models = [{ id: 'scripted', engine: 'fake', script: 'from-request', slots: 4 }]

/** A line has some 4,000 characters, and takes an hour: the batch begins, and is cancelled. */
const content = JSON.stringify({ raw: 'x'.repeat(3800), delayMs: 3_600_000 })
const messages = [{ role: 'user' as const, content }]

type Server = ServeProcess & { readonly folder: string }
const clientsOf = ({ url: base }: Server) => ({
  openai: new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 }),
  anthropic: new Anthropic({ baseURL: base, apiKey: 'none', maxRetries: 0 }),
})

/** Batches of OpenAI and of Anthropic, as large as those allow them: 200 MB and 256 MB. */
const cases = {
  async openai(server: Server) {
    const { openai } = clientsOf(server)
    const path = join(server.folder, 'in.jsonl')
    await writeFile(
      path,
      lines(50_000, (line) => `{"custom_id":"${line}","method":"POST","url":"${url}","body":${body}}\n`),
    )
    const input = await openai.files.create({ file: createReadStream(path), purpose: 'batch' })
    const { id } = await openai.batches.create({ input_file_id: input.id, endpoint: url, completion_window: '24h' })
    await until(async () => (await openai.batches.retrieve(id)).status === 'in_progress', 5 * minuteMs)
    const { request_counts: counts } = await openai.batches.cancel(id)
    await until(async () => (await openai.batches.retrieve(id)).status === 'cancelled', minuteMs)
    return counts?.total
  },
  async anthropic(server: Server) {
    const { anthropic } = clientsOf(server)
    const requests = lines(65_000, (line) => `${line === 0 ? '{"requests":[' : ','}{"custom_id":"${line}","params":${body}}`)
    async function* whole() {
      yield* requests
      yield ']}'
    }
    const reply = await fetch(`${server.url}/v1/messages/batches`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: Readable.toWeb(Readable.from(whole()).map((text) => Buffer.from(text))),
      duplex: 'half',
    } as RequestInit)
    const { id } = (await reply.json()) as { readonly id: string }
    const { request_counts: counts } = await anthropic.messages.batches.cancel(id)
    await until(async () => (await anthropic.messages.batches.retrieve(id)).processing_status === 'ended', minuteMs)
    return counts.processing
  },
}
const body = JSON.stringify({ model: 'scripted', max_tokens: 9, messages })

async function* lines(full: number, make: (line: number) => string) {
  for (let line = 0; line < soakLength(full); line += 1) yield make(line)
}

describe('a batch that is as large as its protocol allows', () => {
  let home: Awaited<ReturnType<typeof createServeHome>>
  let server: Server
  beforeAll(() => buildProgram())
  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-large-batches-'))
    home = await createServeHome(join(folder, 'store.db'), {}, { models })
    server = { ...(await home.start()), folder }
  })
  afterEach(async () => {
    // Lines are still being ended in the store.
    expect(await server.stop()).toBe(0)
    await home.remove()
    await rm(server.folder, { recursive: true, force: true })
  })

  /** The memory of the server, in megabytes: now, and the most that it ever had. */
  function memory() {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8')
    const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1000
    return { now: read('VmRSS'), most: read('VmHWM') }
  }

  test.each([
    ['openai', 50_000],
    ['anthropic', 65_000],
  ] as const)(
    'takes at most 150 MB of memory while it is stored, read and begun: %s',
    { timeout: 10 * minuteMs },
    async (form, count) => {
      await clientsOf(server).openai.chat.completions.create({ model: 'scripted', messages: [{ role: 'user', content: 'hi' }] })
      const idle = memory().now
      expect(await cases[form](server)).toBe(soakLength(count))
      const more = Math.round(memory().most - idle)
      console.log(`${form}: ${more} MB above ${Math.round(idle)} MB`)
      expect(more).toBeLessThanOrEqual(150)
    },
  )
})
