import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Engine } from '../src/contract/engine.ts'
import type { EngineEvent } from '../src/contract/event.ts'
import { createFakeEngine } from '../src/engine/fake/engine.ts'
import { type GoldenDialect, type GoldenTool, goldenDialects, withoutChance } from './support/golden-dialects.ts'
import { engineOver } from './support/remote-engine.ts'
import { scriptedLlama } from './support/scripted-llama.ts'
import { playingEngine, shortUsage } from './support/stub-engine.ts'
import { openTestServer } from './support/test-server.ts'

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
  // A reply with a call is one that no other server can continue.
  { name: 'error in mid-stream', chunks: ['I look.', call('Oslo'), ' Wait.'], failAfter: 2, tool: 'function', differs: true },
  { name: 'cancelled', chunks: ['Good', ' morning', '.'], isCancelled: true },
  { name: 'refused', chunks: [], upstream: refusal },
]

const chatTemplate = fileURLToPath(new URL('../src/dialect/openai-chat/__fixtures__/hermes.jinja', import.meta.url))

const fake = () => createFakeEngine({ script: 'from-request', chatTemplate })

async function remote(engine: Engine): Promise<Engine> {
  const upstream = openTestServer({ engine })
  const url = `http://127.0.0.1:${await upstream.listen()}/v1`
  return engineOver([{ url }], { contextLength: 100_000 })
}

/** Each engine, so that its model says what the scenario says. */
function enginesFor({ upstream }: Scenario): Readonly<Record<string, () => Promise<Engine> | Engine>> {
  if (upstream !== undefined) return { remote: () => remote(playingEngine(upstream)) }
  return { fake, llama: () => scriptedLlama(chatTemplate), remote: () => remote(fake()) }
}

describe.each(goldenDialects.map((dialect) => [dialect.name, dialect] as const))(
  '%s says the same on every engine, as its schema allows',
  (_, dialect) => {
    const possible = scenarios.filter(({ tool }) => tool !== 'custom' || dialect.hasCustomTools)
    test.each(possible.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
      const seen: [engine: string, text: string][] = []
      for (const [engine, create] of Object.entries(enginesFor(scenario)))
        seen.push([engine, await play(await create(), dialect, scenario)])
      const [first, ...others] = seen.map(([, text]) => text)
      if (!scenario.differs) for (const other of others) expect(other).toBe(first)
      const golden = scenario.differs ? seen.map(([engine, text]) => `on ${engine}: ${text}`).join('') : first
      await expect(golden).toMatchFileSnapshot(`goldens/${dialect.name}/${scenario.name}.txt`)
    })
  },
)

/** The events of a streamed reply, and a whole one. */
async function play(engine: Engine, dialect: GoldenDialect, scenario: Scenario): Promise<string> {
  const { name: _, differs: __, upstream: ___, isCancelled, tool, ...script } = scenario
  const server = openTestServer({
    engine: isCancelled ? afterText(engine, 2, () => server.deps.cancellations.cancelWhere({}, 'requested')) : engine,
  })
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
