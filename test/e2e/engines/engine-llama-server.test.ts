import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../src/app/log/log.ts'
import type { Engine } from '../../../src/contract/engine.ts'
import type { ToolChoice } from '../../../src/contract/request.ts'
import { LlamaServerEngine, type LlamaServerEngineOptions } from '../../../src/engine/llama-server/engine.ts'
import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { knowsArgument } from '../../../src/engine/llama-server/knows-argument.ts'
import { launchServer } from '../../../src/engine/llama-server/launch.ts'
import type { ServerEndpoint } from '../../../src/engine/llama-server/server-client.ts'
import type { ServerPlan } from '../../../src/engine/llama-server/server-plan.ts'
import { createRemoteEngine } from '../../../src/engine/remote/engine.ts'
import { chatRequest, complete, describeEngineContract } from '../../engine-contract.ts'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { dataOf, openChat } from '../../support/http/raw-client.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { randomModel } from '../../support/llama/models.ts'
import { blankPng } from '../../support/pictures.ts'
import { isAlive } from '../../support/process/is-alive.ts'
import { answer, ask } from '../../support/upstream/remote-engine.ts'

const never = new AbortController().signal
const binary = llamaServerBinary ?? 'llama-server'
const quiet = createLog({ level: 'silent', destination: { write: () => undefined } })

function createUpstream({ url, apiKey, model }: ServerEndpoint): Engine {
  return createRemoteEngine({
    id: 'm',
    endpoints: [{ url, apiKey, weight: 1 }],
    profile: 'llama-server',
    upstreamModel: model,
    connections: 4,
    log: quiet,
  })
}

async function createEngine(plan: Partial<ServerPlan> = {}, options: Partial<LlamaServerEngineOptions> = {}) {
  const modelPath = await randomModel()
  const engine = new LlamaServerEngine({
    id: 'm',
    log: quiet,
    locate: async () => ({
      binary,
      modelPath,
      contextLength: 2048,
      slots: 4,
      threads: 1,
      flashAttention: 'auto',
      extraArguments: [],
      ...plan,
    }),
    createUpstream,
    ...options,
  })
  return engine
}

async function failureOf(plan: Partial<ServerPlan>): Promise<string> {
  const engine = await createEngine(plan)
  onTestFinished(() => engine.close())
  const error = await engine.ensureReady(never).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'model-unavailable' })
  expect(engine.state).toMatchObject({ type: 'failed' })
  return (error as Error).message
}

async function program(script: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-program-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'llama-server')
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

describe.skipIf(llamaServerBinary === undefined)(`a real llama-server${llamaServerHint}`, () => {
  describeEngineContract('llama-server', { create: () => createEngine(), longPrompt: 'count' })

  describe('a start that fails says why', () => {
    test('a file that is no model', async () => {
      const bad = await program('not a model')
      expect(await failureOf({ modelPath: bad })).toContain('invalid magic characters')
    })

    test('a projector that is none', async () => {
      const bad = await program('not a projector')
      expect(await failureOf({ mmprojPath: bad })).toMatch(/mmproj|CLIP|multimodal|magic/)
    })

    test('a draft model that is none', async () => {
      const bad = await program('not a model')
      expect(await failureOf({ draft: { modelPath: bad } })).toMatch(/draft|magic/)
    })

    test('a cache that the model is too small for', async () => {
      expect(await failureOf({ cacheTypeK: 'q8_0' })).toContain('K cache type q8_0 with block size 32 does not divide')
    })

    test('an argument that this version does not know', async () => {
      expect(await failureOf({ extraArguments: ['--no-such-option'] })).toContain('does not know the argument --no-such-option')
    })
  })

  test.each<ToolChoice>([{ type: 'required' }, { type: 'required', names: ['get_time'] }])(
    'a required call comes although the model would write none: %j',
    async (toolChoice) => {
      const engine = await createEngine()
      onTestFinished(() => engine.close())
      const parameters = {
        type: 'object',
        properties: { zone: { enum: ['UTC', 'CET'] } },
        required: ['zone'],
        additionalProperties: false,
      }
      const tools = ['get_date', 'get_time'].map((name) => ({ name, parameters }))
      const result = await answer(engine, ask('hi', { toolChoice, maxOutputTokens: 100 }, tools))
      const [part] = result.choices[0]?.parts ?? []
      expect(part).toMatchObject({
        type: 'tool-call',
        name: expect.stringMatching('names' in toolChoice ? /^get_time$/ : /^get_/),
      })
      expect(result.choices[0]?.finish.reason).toBe('tool-calls')
    },
  )

  test('thinking ends with its budget, and with the message for that', async () => {
    const engine = await createEngine({ modelPath: 'models/dragoman-tiny.gguf' })
    onTestFinished(() => engine.close())
    const think = async (budget: object, more: object = {}) => {
      const asked = { reasoning: { enabled: true, ...budget }, sampling: { temperature: 0 }, maxOutputTokens: 80, ...more }
      const parts = (await answer(engine, ask('hi', asked))).choices.flatMap((choice) => choice.parts)
      const textsOf = (type: string) =>
        parts.flatMap((part) => (part.type === type && 'text' in part ? [part.text] : [])).join('')
      return { thought: textsOf('reasoning'), reply: textsOf('text') }
    }
    const free = await think({})
    const short = await think({ budgetTokens: 3, budgetMessage: 'Enough.' })
    expect(short.thought).toMatch(/^.+Enough\.$/s)
    expect(short.thought.length).toBeLessThan(free.thought.length)
    expect(short.reply).not.toBe('')
    const json = await think({ budgetTokens: 3 }, { output: { type: 'regex', pattern: '[0-9]{3}' } })
    expect(json).toMatchObject({ thought: expect.stringMatching(/./), reply: expect.stringMatching(/^[0-9]{3}$/) })
  })

  test('tools are taken with schemas that it would refuse', async () => {
    const engine = await createEngine({ modelPath: 'models/dragoman-tiny.gguf' })
    onTestFinished(() => engine.close())
    const odd = [true, false, null, { items: true }, { items: null }, { enum: [] }, { type: 'any' }, { $ref: '#/none' }]
    const more = [{ anyOf: [true] }, { properties: null, required: null }, { minLength: null }, { minItems: 5000, type: 'array' }]
    const tools = [...odd, ...more].map((v, index) => ({
      name: `t${index}`,
      parameters: { type: 'object', properties: { v, w: { properties: { v } } } },
    }))
    for (const toolChoice of [{ type: 'auto' }, { type: 'required' }] as const) {
      const { choices } = await answer(engine, ask('hi', { toolChoice, maxOutputTokens: 4 }, tools))
      expect(choices).toHaveLength(1)
    }
  })

  test('what it has loaded is known', async () => {
    const engine = await createEngine({ contextLength: 1024, slots: 2 })
    onTestFinished(() => engine.close())
    await engine.ensureReady(never)
    expect(engine.facts).toMatchObject({ contextLength: 1024, vocabularySize: 724, embeddingLength: 64 })
    expect(engine.facts.chatTemplate).toContain('<|im_start|>')
  })

  test('kinds of cache and flash attention are taken, and a draft model is asked', async () => {
    const modelPath = await randomModel()
    let endpoint: ServerEndpoint | undefined
    const engine = await createEngine(
      {
        flashAttention: true,
        cacheTypeK: 'bf16',
        cacheTypeV: 'bf16',
        draft: { modelPath, maxTokens: 4, minTokens: 1, minProbability: 0.1 },
      },
      {
        createUpstream: (made) => {
          endpoint = made
          return createUpstream(made)
        },
      },
    )
    onTestFinished(() => engine.close())
    expect(await complete(engine, chatRequest('hi', { maxOutputTokens: 8 }))).toMatchObject({ usage: { outputTokens: 8 } })
    const reply = await fetch(`${endpoint?.url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${endpoint?.apiKey}` },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], max_tokens: 20, temperature: 0 }),
    })
    const { timings } = (await reply.json()) as { timings: { draft_n: number } }
    expect(timings.draft_n).toBeGreaterThan(0)
  })

  test('a conversation whose slot another one took is found again, in the memory that the plan has for it', async () => {
    expect(await knowsArgument(binary, '--cache-ram')).toBe(true)
    const reused = async (promptCacheBytes: number) => {
      const engine = await createEngine({ slots: 1, promptCacheBytes })
      onTestFinished(() => engine.close())
      const [cats, dogs] = ['The cat sat on the mat. ', 'A dog ran along the road. '].map((text) => text.repeat(30)) as [
        string,
        string,
      ]
      for (const text of [cats, dogs]) await complete(engine, chatRequest(text, { maxOutputTokens: 4 }))
      const { usage } = await complete(engine, chatRequest(cats, { maxOutputTokens: 4 }))
      return (usage?.cachedInputTokens ?? 0) / (usage?.inputTokens ?? 1)
    }
    expect(await reused(1e9)).toBeGreaterThan(0.95)
    expect(await reused(0)).toBeLessThan(0.5)
  })

  test('a port that somebody else was quicker to take is left to them', async () => {
    const taken = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{"status":"ok"}'))
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void taken.close())
    const address = taken.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    const ports = [address.port]
    const engine = await createEngine(
      {},
      {
        launch: (plan, handlers, options) =>
          launchServer(plan, handlers, { ...options, findPort: async () => ports.pop() ?? (await freePort()) }),
      },
    )
    onTestFinished(() => engine.close())
    await engine.ensureReady(never)
    expect(engine.state).toEqual({ type: 'ready' })
    expect(ports).toEqual([])
  })
})

describe.skipIf(llamaServerBinary === undefined)(`a configured llama-server${llamaServerHint}`, () => {
  let app: RunningApp
  beforeAll(async () => {
    const model = { engine: 'llama-server' as const, binary, source: await randomModel(), contextLength: 2048, threads: 1 }
    app = await startApp({ models: [{ ...model, id: 'm', slots: 2 }], builtinModel: false })
  })
  afterAll(() => app.close())

  const readyLines = () =>
    app.logLines().filter((line) => line.msg === 'model is ready') as unknown as { workerPid: number; url: string }[]
  const current = () => {
    const line = readyLines().at(-1)
    if (line === undefined) throw new Error('not ready yet')
    return line
  }
  const chat = (messages: unknown[], more: object = {}) =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages, max_tokens: 5, ignore_eos: true, ...more }),
    })

  test('answers, and its server asks everybody else for the key', async () => {
    expect((await fetch(new URL('/health', current().url))).status).toBe(200)
    expect((await fetch(new URL('/props', current().url))).status).toBe(401)
    const reply = await chat([{ role: 'user', content: 'hi' }])
    expect(reply.status).toBe(200)
    expect(await reply.json()).toMatchObject({ model: 'm', usage: { completion_tokens: 5 } })
  })

  test.each([
    ['JSON of a schema', { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } }],
    ['any JSON', { response_format: { type: 'json_object' } }],
    ['log-probabilities', { logprobs: true }],
    ['log-probabilities of a required call', { logprobs: true, tool_choice: 'required' }],
  ])('takes tools beside %s, which its server refuses together', async (_, more) => {
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]
    expect((await chat([{ role: 'user', content: 'hi' }], { tools, ignore_eos: false, ...more })).status).toBe(200)
  })

  test('an image for a model without a projector is refused, with its place', async () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${blankPng().toString('base64')}` } }
    const reply = await chat([{ role: 'user', content: [{ type: 'text', text: 'see' }, image] }])
    expect(reply.status).toBe(400)
    const { error } = (await reply.json()) as { error: { message: string; param: string } }
    expect(error).toMatchObject({ param: 'messages[0].content[1]', message: expect.stringContaining('`mmproj`') })
  })

  test('a server that crashes ends its streams with one error, and comes back', async () => {
    const before = current()
    const doomed = openChat(app.url, { model: 'm', messages: [{ role: 'user', content: 'go' }], stream: true, ignore_eos: true })
    await doomed.untilContent()
    process.kill(before.workerPid, 'SIGSEGV')
    await doomed.ended
    const errors = dataOf(doomed.text()).flatMap((event) => (event.error === undefined ? [] : [event.error]))
    expect(errors).toHaveLength(1)
    expect(errors[0]?.message).toContain('killed by SIGSEGV')
    expect((await chat([{ role: 'user', content: 'hi' }])).status).toBe(200)
    expect(current().workerPid).not.toBe(before.workerPid)
    expect(isAlive(before.workerPid)).toBe(false)
  })

  test('a stream of a server that is killed from outside goes on where it was, with its own seed', async () => {
    const before = current()
    const messages = [{ role: 'user', content: 'go' }]
    // It is killed before it has generated all of them.
    const options = { max_tokens: 1000, ignore_eos: true, stream_options: { include_usage: true } }
    const stream = openChat(app.url, { model: 'm', messages, stream: true, ...options })
    await stream.untilContent()
    process.kill(before.workerPid, 'SIGKILL')
    await stream.ended
    expect(stream.text()).toContain('"completion_tokens":1000')
    expect(current().workerPid).not.toBe(before.workerPid)
  })

  test('a request before the crash is detected is answered after the restart', async () => {
    process.kill(current().workerPid, 'SIGKILL')
    expect((await chat([{ role: 'user', content: 'hi' }])).status).toBe(200)
  })

  test('a request during the restart is answered after it', async () => {
    process.kill(current().workerPid, 'SIGKILL')
    await until(async () => ((await (await fetch(`${app.url}/v1/models/m`)).json()) as { state: string }).state !== 'ready')
    expect((await chat([{ role: 'user', content: 'hi' }])).status).toBe(200)
  })

  test('nothing is left when Dragoman closes', async () => {
    const { workerPid, url } = current()
    await app.close()
    await until(() => !isAlive(workerPid))
    await expect(fetch(new URL('/health', url))).rejects.toThrow()
  })
})

describe('a program that is no llama-server', () => {
  test('is told when it is not there', async () => {
    expect(await failureOf({ binary: 'no-such-llama-server' })).toContain(
      'no-such-llama-server was not found: `dragoman runtime get`',
    )
  })

  test('is quoted when it ends', async () => {
    const path = await program('echo "this is not what you think" >&2; exit 7')
    expect(await failureOf({ binary: path })).toMatch(/exited with code 7: this is not what you think/)
  })

  test('is ended when it never listens', async () => {
    const path = await program('exec sleep 1000')
    const engine = await createEngine(
      { binary: path },
      { launch: (plan, handlers, options) => launchServer(plan, handlers, { ...options, listenTimeoutMs: 500 }) },
    )
    onTestFinished(() => engine.close())
    await expect(engine.ensureReady(never)).rejects.toThrow('did not listen on its port within 0.5 seconds')
  })
})
