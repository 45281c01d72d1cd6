import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { llamaServerBinary } from '../../support/llama/llama-server.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { createServeHome, type ServeProcess } from '../../support/process/serve-process.ts'

const url = '/v1/chat/completions'
const tiny = { source: 'builtin:dragoman-tiny.gguf', slots: 2, contextLength: 1024, threads: 1 }
const scripted = { engine: 'fake', script: 'from-request', toolFormat: 'hermes', slots: 2 }
const managed = { id: 'llama-server', engine: 'llama-server', binary: llamaServerBinary, ...tiny }
const names = ['fake', 'llama', 'vllm', 'messages', ...(llamaServerBinary === undefined ? [] : [managed.id])]

const tools = [
  {
    type: 'function',
    function: {
      name: 'answer',
      parameters: { type: 'object', properties: { yes: { type: 'boolean' } }, required: ['yes'], additionalProperties: false },
    },
  },
]
const format = { type: 'json_schema', json_schema: { name: 'answer', schema: tools[0]?.function.parameters, strict: true } }
const raw = (text: string, delayMs = 0) => JSON.stringify({ raw: text, delayMs })
/** Bodies by the ids of their lines, in order; scripted models play what models are asked. */
const bodies: Readonly<Record<string, { readonly content: string; readonly [field: string]: unknown }>> = {
  first: { content: 'Hello.', max_tokens: 4 },
  shaped: { content: raw('{"yes": true}'), response_format: format },
  refused: { content: 'Hello.', temperature: 'hot' },
  calling: {
    content: raw('<tool_call>{"name": "answer", "arguments": {"yes": true}}</tool_call>'),
    tools,
  },
  ...Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [`long-${index}`, { content: raw('word '.repeat(12), 40), max_tokens: 12 }]),
  ),
  last: { content: 'Goodbye.', max_tokens: 4 },
}
const ids = Object.keys(bodies)

describe('a batch on each engine', () => {
  let folder: string
  let upstream: RunningApp
  let home: Awaited<ReturnType<typeof createServeHome>>
  let server: ServeProcess
  let openai: OpenAI
  beforeAll(async () => {
    await buildProgram()
    folder = await mkdtemp(join(tmpdir(), 'dragoman-batches-engines-'))
    upstream = await startApp({ models: [{ id: 'up', ...scripted } as never] })
    const endpoints = [{ url: `${upstream.url}/v1` }]
    const models = [
      { id: 'fake', ...scripted },
      { id: 'llama', engine: 'llama', ...tiny },
      managed,
      { id: 'vllm', engine: 'remote', upstreamModel: 'up', slots: 2, server: 'vllm', endpoints },
      { id: 'messages', engine: 'remote', upstreamModel: 'up', slots: 2, protocol: 'messages', endpoints },
    ].filter(({ id }) => names.includes(id))
    home = await createServeHome(join(folder, 'store.db'), {}, { models })
    await start()
  })
  afterAll(async () => {
    await server.stop()
    await home.remove()
    await upstream.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function start() {
    server = await home.start()
    openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none' })
  }
  async function create(lines: readonly { readonly id: string; readonly body: object }[]) {
    const text = lines.map(({ id, body }) => JSON.stringify({ custom_id: id, method: 'POST', url, body })).join('\n')
    const file = await openai.files.create({ file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' })
    return (await openai.batches.create({ input_file_id: file.id, endpoint: url, completion_window: '24h' })).id
  }
  const bodyOf = (model: string, { content, ...more }: { readonly content: string }) => ({
    model,
    messages: [{ role: 'user', content }],
    ...more,
    // Small models would rather not.
    ...('tools' in more && model.startsWith('llama') && { tool_choice: 'required' }),
  })
  const completed = async (id: string) => (await openai.batches.retrieve(id)).request_counts?.completed ?? 0
  async function ended(id: string) {
    await until(async () => ['completed', 'cancelled', 'failed'].includes((await openai.batches.retrieve(id)).status), 120_000)
    return openai.batches.retrieve(id)
  }
  async function linesOf(file: string | undefined) {
    const text = await (await openai.files.content(file ?? '')).text()
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }

  test('has the results of all lines in order, each once, though the server was killed in the middle', async () => {
    const batches = await Promise.all(
      names.map((model) => create(ids.map((id) => ({ id, body: bodyOf(model, bodies[id] as { content: string }) })))),
    )
    await until(async () => (await Promise.all(batches.map(completed))).every((count) => count > 0))
    await server.kill()
    await start()
    for (const [index, id] of batches.entries()) {
      const model = names[index]
      const done = await ended(id)
      expect([model, done.status, done.request_counts]).toEqual([
        model,
        'completed',
        { total: ids.length, completed: ids.length - 1, failed: 1 },
      ])
      const results = await linesOf(done.output_file_id)
      expect([model, ...results.map(({ custom_id: one }) => one)]).toEqual([model, ...ids.filter((one) => one !== 'refused')])
      expect(await linesOf(done.error_file_id)).toMatchObject([
        { custom_id: 'refused', response: { status_code: 400, body: { error: { param: 'temperature' } } } },
      ])
      const bodyWith = (one: string) => results.find(({ custom_id: custom }) => custom === one).response.body
      const { message } = bodyWith('shaped').choices[0]
      expect([model, Object.keys(JSON.parse(message.content))]).toEqual([model, ['yes']])
      const [call] = bodyWith('calling').choices[0].message.tool_calls
      expect([model, call.function.name, Object.keys(JSON.parse(call.function.arguments))]).toEqual([model, 'answer', ['yes']])
      const sum = (name: string) => results.reduce((total, { response }) => total + response.body.usage[name], 0)
      expect([model, done.usage]).toMatchObject([
        model,
        { input_tokens: sum('prompt_tokens'), output_tokens: sum('completion_tokens') },
      ])
    }
  })

  test.each(names)('lets who waits go first, ends when it is cancelled, and leaves no slot busy: %s', async (model) => {
    // Each begins differently: one slot of a llama-server would be enough for six lines of one prompt.
    const long = (index: number) => ({
      content: raw(`${index} ${'word '.repeat(900)}`, 100),
      max_tokens: 900,
      ...(model.startsWith('llama') && { ignore_eos: true }),
    })
    const id = await create(Array.from({ length: 6 }, (_, index) => ({ id: `${index}`, body: bodyOf(model, long(index)) })))
    const busy = async () => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text()
      return Number(metrics.split(`dragoman_slots_busy{model="${model}"} `)[1]?.split('\n')[0])
    }
    await until(async () => (await busy()) >= 2)
    await openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 1 })
    expect(await completed(id)).toBe(0)
    await openai.batches.cancel(id)
    expect((await ended(id)).status).toBe('cancelled')
    await until(async () => (await busy()) === 0)
  })

  test('a stream in a line is refused before any line runs', async () => {
    const id = await create(
      names.map((model) => ({ id: model, body: { ...bodyOf(model, { content: 'Hello.' }), stream: true } })),
    )
    const { status, errors } = await ended(id)
    expect([status, errors?.data?.map(({ param }) => param)]).toEqual(['failed', names.map(() => 'body.stream')])
  })
})
