import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { loadFactor } from '../../support/process/stall-bound.ts'

const url = '/v1/chat/completions'
const slots = 4
/** A step of a model that computes one: `stopWithinMs`. */
const stepMs = 250

const scripted = {
  line: { content: JSON.stringify({ raw: 'word '.repeat(900), delayMs: 100 }) },
  question: () => JSON.stringify({ chunks: ['one ', 'two'], delayMs: 30 }),
}
const models = {
  fake: { model: { engine: 'fake', script: 'from-request', slots }, ...scripted },
  /** In front of a server with as many slots as the others, which it does not know: its own are 256. */
  remote: { model: { engine: 'remote', upstreamModel: 'fake' }, ...scripted },
  llama: {
    model: { engine: 'llama', source: 'builtin:dragoman-tiny.gguf', contextLength: 1024, threads: 1, slots },
    line: { content: 'Hello.', max_tokens: 900, ignore_eos: true },
    question: (number: number) => `${number}: ${'We like to read about the sea. '.repeat(12)}`,
  },
}
const names = Object.keys(models) as (keyof typeof models)[]

describe('who waits for a reply while a batch has all slots', () => {
  let app: RunningApp
  let behind: RunningApp
  let openai: OpenAI
  beforeAll(async () => {
    behind = await startApp({ models: [{ id: 'fake', ...models.fake.model } as never] })
    const endpoints = [{ url: `${behind.url}/v1` }]
    const given = names.map((id) => ({ id, ...models[id].model, ...(id === 'remote' && { endpoints }) }))
    app = await startApp({ storage: {}, models: given as never })
    openai = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none', maxRetries: 0 })
  })
  afterAll(async () => {
    await app.close()
    await behind.close()
  })

  let asked = 0
  async function firstTokenMs(model: keyof typeof models): Promise<number> {
    asked += 1
    const startedMs = performance.now()
    const messages = [{ role: 'user' as const, content: models[model].question(asked) }]
    const stream = await openai.chat.completions.create({ model, messages, max_tokens: 2, stream: true })
    let firstMs: number | undefined
    for await (const { choices } of stream) if (choices[0]?.delta.content) firstMs ??= performance.now() - startedMs
    return firstMs ?? performance.now() - startedMs
  }
  /** Of questions asked by `callers` at once, again and again. */
  async function median(model: keyof typeof models, callers: number): Promise<number> {
    const times: number[] = []
    while (times.length < 12) {
      times.push(...(await Promise.all(Array.from({ length: callers }, () => firstTokenMs(model)))))
    }
    return times.sort((one, other) => one - other)[6] ?? Number.NaN
  }

  test.each(names.flatMap((model) => [1, slots].map((callers) => [model, callers] as const)))(
    'has the first token as soon as without one, but for a step: %s, %i at once',
    { timeout: 120_000 },
    async (model, callers) => {
      await firstTokenMs(model)
      const alone = await median(model, callers)
      const { content, ...more } = { ...models[model].line }
      const lines = Array.from({ length: 40 }, (_, index) => {
        const body = { model, messages: [{ role: 'user', content }], ...more }
        return JSON.stringify({ custom_id: `${index}`, method: 'POST', url, body })
      })
      const file = await openai.files.create({ file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'), purpose: 'batch' })
      const { id } = await openai.batches.create({ input_file_id: file.id, endpoint: url, completion_window: '24h' })
      await until(async () => (await app.metric(`dragoman_slots_busy{model="${model}"}`)) === slots)
      const beside = await median(model, callers)
      expect((await openai.batches.cancel(id)).status).toBe('cancelling')
      await until(async () => (await openai.batches.retrieve(id)).status === 'cancelled')
      console.log(`${model}, ${callers} at once: ${Math.round(beside)} ms beside a batch, ${Math.round(alone)} ms alone`)
      expect(beside).toBeLessThanOrEqual(1.1 * alone + stepMs * loadFactor())
    },
  )
})
