import { createReadStream, readFileSync } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../support/http/app.ts'
import { buildProgram } from '../support/process/built-program.ts'
import { createServeHome, type ServeProcess } from '../support/process/serve-process.ts'
import { soakLength } from '../support/process/soak-length.ts'

const minuteMs = 60_000
const url = '/v1/chat/completions'
const lineCount = soakLength(50_000)
const models = [{ id: 'scripted', engine: 'fake', script: 'from-request', slots: 4 }]

describe('a batch of as many and as long lines as OpenAI allows', () => {
  let folder: string
  let home: Awaited<ReturnType<typeof createServeHome>>
  let server: ServeProcess
  beforeAll(async () => {
    await buildProgram()
    folder = await mkdtemp(join(tmpdir(), 'dragoman-large-batches-'))
    home = await createServeHome(join(folder, 'store.db'), {}, { models })
    server = await home.start()
  })
  afterAll(async () => {
    await server.stop()
    await home.remove()
    await rm(folder, { recursive: true, force: true })
  })

  /** The memory of the server, in megabytes: now, and the most that it ever had. */
  function memory() {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8')
    const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1000
    return { now: read('VmRSS'), most: read('VmHWM') }
  }

  test('takes at most 200 MB of memory while it is stored, read and begun', { timeout: 10 * minuteMs }, async () => {
    const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
    await openai.chat.completions.create({ model: 'scripted', messages: [{ role: 'user', content: 'hi' }] })
    const idle = memory().now
    // A line has some 4,000 characters, and takes an hour: the batch begins, and is cancelled.
    const file = await open(join(folder, 'in.jsonl'), 'w+')
    const content = JSON.stringify({ raw: 'x'.repeat(3800), delayMs: 3_600_000 })
    for (let line = 0; line < lineCount; line += 1) {
      const body = { model: 'scripted', messages: [{ role: 'user', content }] }
      await file.write(`${JSON.stringify({ custom_id: `${line}`, method: 'POST', url, body })}\n`)
    }
    const input = await openai.files.create({ file: createReadStream(join(folder, 'in.jsonl')), purpose: 'batch' })
    await file.close()
    const { id } = await openai.batches.create({ input_file_id: input.id, endpoint: url, completion_window: '24h' })
    const state = async () => (await openai.batches.retrieve(id)).status
    await until(async () => (await state()) === 'in_progress', 5 * minuteMs)
    await openai.batches.cancel(id)
    await until(async () => (await state()) === 'cancelled', minuteMs)
    expect((await openai.batches.retrieve(id)).request_counts?.total).toBe(lineCount)
    expect(memory().most - idle).toBeLessThanOrEqual(200)
  })
})
