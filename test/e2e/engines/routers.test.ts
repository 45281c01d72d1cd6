import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { scriptedTemplate } from '../../support/http/client-script.ts'
import { openChat } from '../../support/http/raw-client.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { randomModel } from '../../support/llama/models.ts'
import { type RouterName, type RunningRouter, routerNames, routersHint, startRouter } from '../../support/process/routers.ts'
import { loadFactor, soon } from '../../support/process/stall-bound.ts'
import { asking, modelBehind, passesOf, post } from '../../support/upstream/over-routers.ts'
import { type RecordingEngine, startRecordingEngine } from '../../support/upstream/recording-engine.ts'
import { lossColumns, lossesOf } from '../../support/upstream/router-losses.ts'

/** A router over two scripted Dragomans of its own. */
type Rig = { readonly router: RunningRouter; readonly engines: readonly RecordingEngine[] }

const ends: (() => unknown)[] = []
const rigs = new Map<RouterName, Rig>()
/** Its models are those behind the routers; their names with `-llama` are llama-servers, where there are some. */
let app: RunningApp

beforeAll(async () => {
  if (routersHint !== undefined) return
  const models = await Promise.all(routerNames.flatMap((name) => [openRig(name), openLlamaServers(name)]))
  app = await startApp({ builtinModel: false, models: models.filter((model) => model !== undefined) })
  ends.push(() => app.close())
  // The first request loads a model, which finds out what its router passes on.
  const ids = app.models.map(({ id }) => id)
  for (const model of ids) await post(app, { model, messages: asking('wake up'), max_tokens: 1 })
  await Promise.all(ids.map((id) => passesOf(app, id)))
}, 120_000)

afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

async function openRig(name: RouterName) {
  const fake = { id: 'tiny', engine: 'fake' as const, script: 'from-request', contextLength: 8192 }
  const engines = await Promise.all([1, 2].map(() => startRecordingEngine([{ ...fake, chatTemplate: scriptedTemplate }])))
  const router = await startRouter(
    name,
    engines.map(({ origin }) => origin),
  )
  ends.push(() => Promise.all(engines.map((one) => one.close())))
  ends.push(() => router.kill())
  rigs.set(name, { router, engines })
  return modelBehind(name, router, { server: 'dragoman', upstreamModel: 'tiny' })
}

let llamaServers: Promise<readonly string[]> | undefined

async function openLlamaServers(name: RouterName) {
  if (llamaServerBinary === undefined) return undefined
  // All routers share them.
  llamaServers ??= randomModel().then((model) => Promise.all([1, 2].map(() => startLlamaServer(model))))
  const router = await startRouter(name, await llamaServers)
  ends.push(() => router.kill())
  return { ...modelBehind(name, router, { server: 'llama-server', upstreamModel: 'random' }), id: `${name}-llama` }
}

/** Its address. */
async function startLlamaServer(model: string): Promise<string> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const flags = [
    '--alias',
    'random',
    '--port',
    `${port}`,
    '-c',
    '8192',
    '-np',
    '2',
    '-t',
    '1',
    '-tb',
    '1',
    '--jinja',
    '--no-webui',
  ]
  const child = spawn(llamaServerBinary ?? '', ['-m', model, ...flags], { stdio: 'ignore' })
  ends.push(() => child.kill('SIGKILL'))
  await until(
    () =>
      fetch(`${origin}/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
    60_000,
  )
  return origin
}

describe.skipIf(routersHint !== undefined)(`routers over two scripted Dragomans${routersHint ?? ''}`, () => {
  // Side by side, each over engines of its own.
  describe.concurrent.each(routerNames)('%s', (name) => {
    const rig = () => rigs.get(name) ?? expect.unreachable('its router has not been started')
    // vllm-router has an engine render a prompt before it chooses one.
    const arrived = () =>
      rig()
        .engines.flatMap((one) => one.arrived)
        .filter(({ path }) => path.endsWith('/completions'))
    const active = () => rig().engines.reduce((sum, one) => sum + one.active(), 0)
    const forget = () => {
      for (const one of rig().engines) one.arrived.splice(0)
    }

    test.sequential('replies with thoughts, calls and usage as the engine has them, whole and streamed', async () => {
      const raw = '<think>Two words.</think>I look. <tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
      const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
      const body = { model: name, messages: asking({ raw }), tools }
      const direct = await post({ url: rig().engines[0]?.origin ?? '' }, { ...body, model: 'tiny' })
      const through = await post(app, body)
      const { id: _, ...call } = direct.json.choices[0].message.tool_calls[0]
      expect(through.json.choices[0].message).toMatchObject({ content: 'I look. ', reasoning_content: 'Two words.' })
      expect(through.json.choices[0].message.tool_calls).toMatchObject([call])
      expect(through.json.choices[0].finish_reason).toBe('tool_calls')
      expect(through.json.usage).toMatchObject(direct.json.usage)
      const stream = await post(app, { ...body, stream: true, stream_options: { include_usage: true } })
      const chunks = stream.text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
      expect(chunks.at(-1).usage).toMatchObject(direct.json.usage)
      expect(stream.text.endsWith('data: [DONE]\n\n')).toBe(true)
    })

    test.sequential('no good request waits while one client fails once a second', async () => {
      const good = () => post(app, { model: name, messages: asking('hello') })
      const usual = await Promise.all([good(), good(), good()])
      const usualMs = Math.max(...usual.map(({ tookMs }) => tookMs))
      const bad: Promise<unknown>[] = []
      const took: number[] = []
      for (let turn = 0; turn < 12; turn++) {
        if (turn % 3 === 0) bad.push(post(app, { model: name, messages: asking({ status: 500 }) }))
        const { status, tookMs } = await good()
        expect(status).toBe(200)
        took.push(tookMs)
        await sleep(300)
      }
      await Promise.all(bad)
      // Behind an ejected router it would be many seconds.
      expect(Math.max(...took)).toBeLessThan(2 * usualMs * loadFactor() + 500)
    })

    test.sequential.each([
      { status: 500 },
      { status: 503 },
      { status: 400 },
      { status: 503, retryAfter: '1' },
      { status: 429, retryAfter: '1' },
    ])('of %j, only the router tries its engines again', async (script) => {
      forget()
      const alone = await post(rig().router, { model: 'tiny', messages: asking(script) })
      expect(alone.status).toBe(script.status)
      const own = arrived().length
      forget()
      const through = await post(app, { model: name, messages: asking(script) })
      expect(arrived()).toHaveLength(own)
      expect(through.json.error.message).toContain('as asked')
      if (script.status === 500 || script.status === 400) return
      expect([through.status, through.headers.get('retry-after')]).toEqual([script.status, '1'])
    })

    test.sequential.each(['whole', 'streamed'])('a hang-up of a %s reply reaches the engine', async (how) => {
      await until(() => active() === 0)
      const script = { chunks: Array.from({ length: 400 }, (_, index) => `w${index} `), delayMs: 50 }
      const chat = openChat(app.url, { model: name, messages: asking(script), stream: how === 'streamed' })
      if (how === 'streamed') await chat.untilContent()
      await until(() => arrived().length > 0 && active() === 1)
      await soon(() => {
        chat.hangUp()
        return until(() => active() === 0)
      })
    })

    test.sequential('the engine hears the request id and the trace, and a name of the session', async () => {
      forget()
      const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
      const { json } = await post(app, { model: name, messages: asking('hi') }, { traceparent, 'x-session-id': 'raw-session' })
      const headers = arrived()[0]?.headers ?? {}
      expect(headers).toMatchObject({ traceparent, 'x-request-id': json.id })
      expect(JSON.stringify(headers)).not.toContain('raw-session')
      expect(headers['x-session-id'] ?? headers['x-smg-routing-key']).toMatch(/^[\w-]{22}$/)
    })

    test.sequential('shows what it passes on', async () => {
      // Scripted engines keep no pattern.
      const expected = {
        'vllm-router': { top_k: true, tokenizer: true },
        'sglang-router': { top_k: true, tokenizer: false },
        smg: { top_k: true, tokenizer: false },
      }
      expect(await passesOf(app, name)).toMatchObject(expected[name])
    })

    test.sequential('killed, it is a 503 that says when to come back; started again, it serves the next request', async () => {
      await rig().router.kill()
      const { status, headers, json } = await post(app, { model: name, messages: asking('hi') })
      expect([status, json.error.message]).toEqual([503, expect.stringContaining('cannot be reached')])
      expect(headers.get('retry-after')).toBe('1')
      await rig().router.restart()
      expect(await post(app, { model: name, messages: asking('hi') })).toMatchObject({ status: 200 })
    })
  })

  test('the table in docs/engines/routers.md shows what does not arrive', async () => {
    const rows: string[][] = [['', ...lossColumns]]
    for (const [name, { router, engines }] of [...rigs].sort()) {
      rows.push([`${name} ${router.version}`, ...(await lossesOf(router, engines))])
    }
    const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
    const write = (row: readonly string[]) => `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
    const [head = [], ...body] = rows
    const table = [write(head), write(widths.map((width) => '-'.repeat(width))), ...body.map(write)].join('\n')
    const page = fileURLToPath(new URL('../../../docs/engines/routers.md', import.meta.url))
    const text = readFileSync(page, 'utf8')
    const [start, end] = ['<!-- losses -->\n\n', '\n\n<!-- /losses -->']
    const before = text.slice(0, text.indexOf(start) + start.length)
    await expect(before + table + text.slice(text.indexOf(end))).toMatchFileSnapshot(page)
  })
})

type Message = {
  readonly content: string | null
  readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[]
}

const schema = { type: 'object', properties: { a: { enum: ['x', 'y'] } }, required: ['a'], additionalProperties: false }
const choose = { type: 'function', function: { name: 'choose', parameters: schema } }
const constraints: readonly { readonly what: string; readonly fields: object; holds(message: Message): void }[] = [
  {
    what: 'a pattern',
    fields: { regex: '(yes|no), [0-9]{2}' },
    holds: ({ content }) => expect(content).toMatch(/^(yes|no), [0-9]{2}$/),
  },
  {
    what: 'a grammar',
    fields: { grammar: 'root ::= "up" | "down"' },
    holds: ({ content }) => expect(content).toMatch(/^(up|down)$/),
  },
  {
    what: 'a JSON Schema',
    fields: { response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } } },
    holds: ({ content }) => expect(['x', 'y']).toContain(JSON.parse(content ?? '').a),
  },
  {
    what: 'a required call',
    fields: { tools: [choose], tool_choice: 'required' },
    holds: ({ tool_calls }) => expect(['x', 'y']).toContain(JSON.parse(tool_calls?.[0]?.function.arguments ?? '').a),
  },
]

describe.skipIf(routersHint !== undefined || llamaServerBinary === undefined)(
  `routers over two llama-servers${routersHint ?? llamaServerHint}`,
  () => {
    describe.each(routerNames)('%s', (name) => {
      const dropsGrammars = name === 'sglang-router'

      test('shows what it passes on', async () => {
        expect(await passesOf(app, `${name}-llama`)).toEqual({ regex: !dropsGrammars, tokenizer: name === 'vllm-router' })
      })

      test.each(constraints)('$what is kept, or refused by name', async ({ fields, holds }) => {
        const { status, headers, json, text } = await post(app, {
          model: `${name}-llama`,
          messages: asking('hi'),
          max_tokens: 200,
          ...fields,
        })
        if (dropsGrammars && !('response_format' in fields) && !('tools' in fields)) {
          expect([status, json.error?.code], text).toEqual([400, 'unsupported_field'])
          return
        }
        expect(status, text).toBe(200)
        // Random weights call no tool without a grammar, and never end: the reply is cut, and says so.
        if (dropsGrammars && 'tools' in fields) {
          expect(json.choices[0].finish_reason).toBe('length')
          return
        }
        holds(json.choices[0].message)
        if (!('tools' in fields)) expect(headers.get('x-dragoman-structured')).toBe('validated')
      })

      test('log-probabilities are those of the engine, and usage is exact', async () => {
        const fields = { max_tokens: 5, logprobs: true, top_logprobs: 2 }
        const { json, text } = await post(app, { model: `${name}-llama`, messages: asking('hi'), ...fields })
        const { content } = json.choices[0].logprobs
        expect(json.usage.completion_tokens, text).toBe(content.length)
        expect(content[0].top_logprobs).toHaveLength(2)
      })
    })
  },
)
