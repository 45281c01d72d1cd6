import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import type { Engine } from '../src/contract/engine.ts'
import type { EngineEvent } from '../src/contract/event.ts'
import { createFakeEngine } from '../src/engine/fake/engine.ts'
import { createRemoteEngine } from '../src/engine/remote/engine.ts'
import { type GoldenDialect, type GoldenTool, goldenDialects, withoutChance } from './support/golden-dialects.ts'
import { createTestServer } from './support/http/test-server.ts'
import { scriptedLlama } from './support/llama/scripted-llama.ts'
import { secretKey } from './support/upstream/remote-engine.ts'
import { playingEngine, shortUsage } from './support/upstream/stub-engine.ts'

/** A generation as a model's raw text, in chunks, and how it ends. */
type Scenario = {
  readonly name: string
  readonly chunks: readonly string[]
  readonly finish?: 'length'
  readonly failAfter?: number
  /** The caller cancels the request after its chunks. */
  readonly isCancelled?: true
  readonly tool?: GoldenTool
  /** Engines say it in different words. */
  readonly differs?: true
  /** What a server behind the model sends instead: scripts cannot say it. */
  readonly upstream?: readonly EngineEvent[]
}

const call = (city: string) => `<tool_call>{"name": "weather", "arguments": {"city": "${city}"}}</tool_call>`
const refusal: readonly EngineEvent[] = [
  { type: 'refusal-start', choice: 0 },
  { type: 'refusal-delta', choice: 0, delta: 'I do not' },
  { type: 'refusal-delta', choice: 0, delta: ' do that.' },
  { type: 'refusal-end', choice: 0 },
  { type: 'finish', choice: 0, reason: 'refusal' },
  shortUsage,
]
const scenarios: readonly Scenario[] = [
  { name: 'text', chunks: ['Good', ' morning.'] },
  { name: 'reasoning, text', chunks: ['<think>Short', ' or long?</think>', 'Short.'] },
  { name: 'text, two calls, text', chunks: ['I look.', call('Oslo'), call('Rome'), 'Wait.'], tool: 'function' },
  { name: 'call only', chunks: [call('Oslo')], tool: 'function' },
  {
    name: 'custom call',
    chunks: ['<tool_call>{"name": "note", "arguments": {"input": "a \\"b\\"', '\\nc"}}</tool_call>'],
    tool: 'custom',
  },
  { name: 'truncated', chunks: ['It is a', ' long'], finish: 'length' },
  { name: 'truncated call', chunks: ['<tool_call>{"name": "weather", "arguments": {"ci'], finish: 'length', tool: 'function' },
  // A reply with a call is one that a server whose template is not known cannot continue.
  { name: 'error in mid-stream', chunks: ['I look.', call('Oslo'), ' Wait.'], failAfter: 2, tool: 'function', differs: true },
  { name: 'cancelled', chunks: ['Good', ' morning', '.'], isCancelled: true },
  { name: 'refused', chunks: [], upstream: refusal },
]

const chatTemplate = fileURLToPath(new URL('../src/dialect/openai-chat/__fixtures__/hermes.jinja', import.meta.url))

const fake = () => createFakeEngine({ script: 'from-request', chatTemplate })

async function remote(engine: Engine, profile?: 'openai'): Promise<Engine> {
  const upstream = createTestServer({ engine })
  closing.push(() => upstream.drain(0))
  const url = `http://127.0.0.1:${await upstream.listen()}/v1`
  const endpoints = [{ url, weight: 1, apiKey: secretKey }]
  const options = { id: 'm', endpoints, connections: 16, log: pino({ level: 'silent' }), contextLength: 100_000 }
  return createRemoteEngine({ ...options, ...(profile && { profile }) })
}

const create: Readonly<Record<string, (scenario: Scenario) => Promise<Engine> | Engine>> = {
  fake,
  llama: () => scriptedLlama(chatTemplate),
  remote: ({ failAfter }) => remote(fake(), failAfter === undefined ? undefined : 'openai'),
}

type Server = ReturnType<typeof createTestServer>
/** By the name of the engine, for scenarios that leave an engine as it was. */
const shared = new Map<string, Promise<Server>>()
const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

async function open(creating: Promise<Engine> | Engine, cancelsAfter?: number): Promise<Server> {
  const engine = await creating
  const cancel = () => server.deps.cancellations.cancelWhere({}, 'requested')
  const server: Server = createTestServer({
    engine: cancelsAfter === undefined ? engine : afterText(engine, cancelsAfter, cancel),
  })
  closing.push(
    () => engine.close(),
    () => server.drain(0),
  )
  return server
}

/** A server over each engine, whose model says what the scenario says. */
async function serversFor(scenario: Scenario): Promise<readonly (readonly [string, Server])[]> {
  const { upstream, isCancelled, failAfter } = scenario
  if (upstream !== undefined) return [['remote', await open(remote(playingEngine(upstream)))]]
  return Promise.all(
    Object.entries(create).map(async ([name, make]) => {
      if (isCancelled === true || failAfter !== undefined) return [name, await open(make(scenario), isCancelled && 2)] as const
      const server = shared.get(name) ?? open(make(scenario))
      shared.set(name, server)
      return [name, await server] as const
    }),
  )
}

describe.each(goldenDialects.map((dialect) => [dialect.name, dialect] as const))(
  '%s says the same on every engine, as its schema allows',
  (_, dialect) => {
    const possible = scenarios.filter(({ tool }) => tool !== 'custom' || dialect.hasCustomTools)
    test.each(possible.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
      const seen: [engine: string, text: string][] = []
      for (const [engine, server] of await serversFor(scenario)) seen.push([engine, await play(server, dialect, scenario)])
      const [first, ...others] = seen.map(([, text]) => text)
      if (!scenario.differs) for (const other of others) expect(other).toBe(first)
      const golden = scenario.differs ? seen.map(([engine, text]) => `on ${engine}: ${text}`).join('') : first
      await expect(golden).toMatchFileSnapshot(`goldens/${dialect.name}/${scenario.name}.txt`)
    })
  },
)

/** The events of a streamed reply, and a whole one. */
async function play(server: Server, dialect: GoldenDialect, scenario: Scenario): Promise<string> {
  const { name: _, differs: __, upstream: ___, isCancelled: ____, tool, ...script } = scenario
  const ask = (stream: boolean) =>
    server.app.inject({
      method: 'POST',
      url: dialect.path,
      headers: { 'content-type': 'application/json', host: 'localhost' },
      payload: dialect.body(JSON.stringify(script), { stream, tool }),
    })
  const streamed = await ask(true)
  for (const event of eventsOf(streamed.body)) (isError(event) ? dialect.checkError : dialect.checkEvent)(event)
  const whole = await ask(false)
  const check = whole.statusCode === 200 ? dialect.checkReply : dialect.checkError
  check(whole.json())
  return withoutChance(`${streamed.statusCode}\n${streamed.body}${whole.statusCode}\n${JSON.stringify(whole.json(), null, 2)}\n`)
}

function eventsOf(stream: string): unknown[] {
  // A stream of Ollama's is lines of JSON.
  if (stream.startsWith('{'))
    return stream
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const lines = stream.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
  return lines.map((line) => JSON.parse(line.slice('data: '.length)))
}

function isError(event: unknown): boolean {
  return typeof event === 'object' && event !== null && 'error' in event
}

/** The same engine; `act` is called when a run of it has sent so many pieces of text. */
function afterText(engine: Engine, count: number, act: () => void): Engine {
  const prepare = engine.prepare.bind(engine)
  return Object.assign(engine, {
    prepare: async (...asked: Parameters<Engine['prepare']>) => {
      const prepared = await prepare(...asked)
      let seen = 0
      const run: typeof prepared.run = (signal, emit) =>
        prepared.run(signal, (event) => {
          const pending = emit(event)
          if ('text' in event || event.type === 'text-delta') seen += 1
          if (seen === count) act()
          return pending
        })
      return { ...prepared, run }
    },
  })
}
