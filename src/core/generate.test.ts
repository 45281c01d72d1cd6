import { describe, expect, test } from 'vitest'
import { anyone, type ContextOptions, contextOf } from '../../test/support/http/context.ts'
import { iterate } from '../../test/support/http/iterate.ts'
import { call, reasoning, text } from '../../test/support/parts.ts'
import { stubEngine } from '../../test/support/upstream/stub-engine.ts'
import { callsOf } from '../canonical/parts.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import type { OutputFormat } from '../contract/output-format.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../contract/request.ts'
import { foldEvents } from '../contract/result.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { type GenerateDeps, generate } from './generate.ts'

const never = new AbortController().signal
const usage: EngineEvent = {
  type: 'usage',
  usage: { inputTokens: 3, cachedInputTokens: 1, outputTokens: 2, reasoningTokens: 0 },
  timings: { prefillMs: 4 },
}
const finish: EngineEvent = { type: 'finish', choice: 0, reason: 'stop' }
const raw = (text: string): EngineEvent => ({ type: 'raw-text', choice: 0, text })
const request: GenerationRequest = {
  ...plainRequest,
  id: 'r',
  model: 'alias',
  prompt: { type: 'text', text: 'x' },
}

/** An engine that replays a list and records whether its iteration was closed. */
function createEngine(steps: readonly (EngineEvent | Error)[], options: { prepare?: Error; outputFormat?: OutputFormat } = {}) {
  const facts = { closed: 0, prepared: 0 }
  const engine = stubEngine({
    prepare: async () => {
      facts.prepared += 1
      if (options.prepare !== undefined) throw options.prepare
      return {
        ...(options.outputFormat !== undefined && { outputFormat: options.outputFormat }),
        run: async (_, emit) => {
          try {
            for (const step of steps) {
              if (step instanceof Error) throw step
              await emit(step)
            }
          } finally {
            facts.closed += 1
          }
        },
      }
    },
  })
  return { engine, facts }
}

type StartOptions = ContextOptions & { readonly asked?: GenerationRequest; readonly deps?: Partial<GenerateDeps> }

function start(engine: Engine, { asked = request, deps = {}, ...options }: StartOptions = {}) {
  let nowMs = 0
  const context = contextOf(engine, { receivedAtMs: 0, ...options })
  const generation = generate({ now: () => nowMs++, ...deps }, [asked], context)
  return { generation, load: () => context.model.scheduler.load }
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const all: GenerationEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

test.each<[Partial<GenerationRequest>, string]>([
  [{ promptTokens: {} }, 'promptTokens'],
  [{ minOutputTokens: 1 }, 'minOutputTokens'],
])('%j is refused where the engine does not say that it honours it', async (asked, place) => {
  const { engine } = createEngine([raw('a'), finish, usage])
  const { generation, load } = start(engine, { asked: { ...request, ...asked } })
  await expect(collect(iterate(generation.run))).rejects.toMatchObject({ code: 'unsupported-field', at: [place] })
  expect(load().busy).toBe(0)
})

describe('an answer parsed by its output format', () => {
  const outputFormat: OutputFormat = {
    toolFormat: 'hermes',
    reasoning: { open: '<think>', close: '</think>' },
    startsInReasoning: false,
  }
  const asked: GenerationRequest = {
    ...request,
    prompt: { type: 'chat', messages: [], ...plainChat, tools: [{ name: 'f' }] },
  }
  const answer = async (text: string, reason: 'stop' | 'length') => {
    const { engine } = createEngine([raw(text), { ...finish, reason }, usage], { outputFormat })
    return await foldEvents(start(engine, { asked }).generation)
  }
  const call = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'

  test.each([
    { text: call, reason: 'stop', wanted: 'tool-calls' },
    { text: call, reason: 'length', wanted: 'length' },
    { text: call.slice(0, -20), reason: 'length', wanted: 'length' },
    { text: call.replace('"f"', '"g"'), reason: 'stop', wanted: 'stop' },
  ] as const)('$text that ended with $reason finishes with $wanted', async ({ text, reason, wanted }) => {
    const { choices } = await answer(text, reason)
    expect(choices[0]?.finish.reason).toBe(wanted)
    expect(callsOf(choices[0]?.parts ?? []).length).toBe(text.includes('"g"') ? 0 : 1)
  })

  test('reasoning is separate, and its tokens are counted where the engine does not count them', async () => {
    const steps = ['<think>', 'hm', '</think>', 'Yes.'].map(raw)
    const { generation } = start(createEngine([...steps, finish, usage], { outputFormat }).engine, { asked })
    expect(await foldEvents(generation)).toMatchObject({
      choices: [{ parts: [reasoning('hm'), text('Yes.')], finish: { reason: 'stop' } }],
      usage: { reasoningTokens: 2 },
    })
  })

  test.each([
    [{ outputTokens: 9, reasoningTokens: 0 }, 3],
    [{ outputTokens: 2, reasoningTokens: 0 }, 2],
    [{ outputTokens: 9, reasoningTokens: 5 }, 5],
  ])(
    'the tokens of reasoning that the engine divides from the text are its own, or the pieces: %j',
    async (counts, reasoningTokens) => {
      const thought: EngineEvent[] = ['so', ' it', ' is'].map((delta) => ({ type: 'reasoning-delta', choice: 0, delta }))
      const counted = { ...usage, usage: { ...usage.usage, ...counts } }
      const events: EngineEvent[] = [
        { type: 'reasoning-start', choice: 0 },
        ...thought,
        { type: 'reasoning-end', choice: 0 },
        raw('Yes.'),
        finish,
        counted,
      ]
      const { generation } = start(createEngine(events, { outputFormat }).engine, { asked })
      expect((await foldEvents(generation)).usage).toMatchObject({ reasoningTokens })
    },
  )
})

describe('generate', () => {
  test('generate measures what its engine does not: the times to the first text, from there to the end, and from the arrival', async () => {
    const { engine } = createEngine([raw('a'), raw('b'), finish, { ...usage, timings: {} }])
    const { timings } = await foldEvents(start(engine).generation)
    const { prefillMs = 0, decodeMs = 0, totalMs = 0, queueMs = 0, loadMs = 0 } = timings
    // The clock of this test moves with each look at it.
    expect([prefillMs > 0, decodeMs > 0]).toEqual([true, true])
    expect(queueMs + loadMs + prefillMs + decodeMs).toBeLessThanOrEqual(totalMs)
    const [silent] = [await foldEvents(start(createEngine([finish, { ...usage, timings: {} }]).engine).generation)]
    expect(silent.timings).toMatchObject({ decodeMs: 0, prefillMs: expect.any(Number) })
    expect(silent.timings).not.toHaveProperty('firstTokenMs')
  })

  test('generate reports the serving model, parses raw text and adds timings', async () => {
    const { generation, load } = start(createEngine([raw('a'), raw('b'), finish, usage]).engine)
    const events = await collect(iterate(generation.run))
    const types = ['start', 'text-start', 'text-delta', 'text-delta', 'text-end', 'finish', 'usage']
    expect(events.map((event) => event.type)).toEqual(types)
    expect(events[0]).toEqual({ type: 'start', model: 'm', warnings: [] })
    expect(events.at(-1)).toMatchObject({ timings: { prefillMs: 4, queueMs: 1, loadMs: 1, firstTokenMs: expect.any(Number) } })
    expect(load().busy).toBe(0)
  })

  test.each([
    [undefined, undefined],
    [{ name: undefined }, 'unnamed'],
    [{ name: 'calm' }, 'calm'],
  ])('generate says under which preset it runs: %j', async (inUse, preset) => {
    const presets = { inUse, apply: (asked: GenerationRequest) => asked }
    const { generation } = start(createEngine([raw('a'), finish, usage]).engine, { deps: { presets } })
    const [first] = await collect(iterate(generation.run))
    expect(first).toEqual({ type: 'start', model: 'm', warnings: [], ...(preset !== undefined && { preset }) })
  })

  test('a request that the engine refuses takes no slot', async () => {
    const { generation, load } = start(createEngine([], { prepare: new AppError('context-length-exceeded', 'too long') }).engine)
    await expect(collect(iterate(generation.run))).rejects.toMatchObject({ code: 'context-length-exceeded' })
    expect(load().busy).toBe(0)
  })

  test.each([
    [{ inputTokens: 100, contextLength: 100 }, 2, 'too long; the prompt declares 2 tools: send fewer'],
    [{ inputTokens: 100, contextLength: 100 }, 0, 'too long'],
    [{ inputTokens: 50, outputTokens: 60, contextLength: 100 }, 2, 'too long'],
  ])('a refusal of %j tokens with %i tools counts them where the prompt alone is too long', async (overflow, count, message) => {
    const tools = Array.from({ length: count }, (_, index) => ({ name: `f${index}` }))
    const asked: GenerationRequest = { ...request, prompt: { type: 'chat', messages: [], ...plainChat, tools } }
    const { engine } = createEngine([], { prepare: new AppError('context-length-exceeded', 'too long', { overflow }) })
    await expect(collect(iterate(start(engine, { asked }).generation.run))).rejects.toMatchObject({ message, overflow })
  })

  test('a reader that leaves stops the engine, then frees the slot', async () => {
    const { engine, facts } = createEngine([raw('a'), raw('b'), finish, usage])
    const { generation, load } = start(engine)
    for await (const event of iterate(generation.run)) if (event.type === 'text-delta') break
    expect(facts.closed).toBe(1)
    expect(load().busy).toBe(0)
  })

  test('an engine that ignores its signal is stopped at its next event', async () => {
    const controller = new AbortController()
    const { engine, facts } = createEngine([raw('a'), raw('b'), finish, usage])
    const { generation } = start(engine, { signal: controller.signal })
    const events: GenerationEvent[] = []
    for await (const event of iterate(generation.run)) {
      events.push(event)
      if (event.type === 'text-delta') controller.abort(new AppError('cancelled', 'enough'))
    }
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'cancelled' } })
    expect(facts.closed).toBe(1)
  })

  test('a failing engine frees the slot', async () => {
    const { generation, load } = start(createEngine([raw('a'), new Error('boom')]).engine)
    expect((await collect(iterate(generation.run))).at(-1)).toMatchObject({ type: 'error', error: { code: 'internal' } })
    expect(load().busy).toBe(0)
  })

  test('while all slots are busy a request waits, and leaves when it is cancelled', async () => {
    const controller = new AbortController()
    const { engine, facts } = createEngine([raw('a'), finish, usage])
    const { model } = contextOf(engine)
    await model.scheduler.enter({ id: 'other', principal: anyone, signal: never }).slot({}, never)
    const { generation } = start(engine, { signal: controller.signal, model })
    const ended = collect(iterate(generation.run))
    while (facts.prepared === 0) await Promise.resolve()
    controller.abort(new AppError('cancelled', 'left'))
    await expect(ended).rejects.toMatchObject({ code: 'cancelled' })
    expect(facts).toMatchObject({ prepared: 1, closed: 0 })
    expect(model.scheduler.load).toMatchObject({ busy: 1, queued: 0 })
  })
})

describe('foldEvents', () => {
  test('a folded stream is the whole reply', async () => {
    const { generation } = start(createEngine([raw('a'), raw('b'), finish, usage]).engine)
    expect(await foldEvents(generation)).toMatchObject({
      start: { type: 'start', model: 'm', warnings: [] },
      choices: [{ parts: [text('ab')], finish: { reason: 'stop' } }],
      usage: { inputTokens: 3, outputTokens: 2 },
    })
  })

  test('tool calls, reasoning and choices stay separate', async () => {
    const events: EngineEvent[] = [
      { type: 'reasoning-delta', choice: 1, delta: 'hm' },
      { type: 'tool-call-start', choice: 0, id: 'c1', name: 'f' },
      { type: 'tool-call-delta', choice: 0, id: 'c1', delta: '{"a":' },
      { type: 'tool-call-delta', choice: 0, id: 'c1', delta: '1}' },
      { type: 'tool-call-end', choice: 0, id: 'c1' },
      { type: 'finish', choice: 0, reason: 'tool-calls' },
      { type: 'finish', choice: 1, reason: 'length' },
      usage,
    ]
    const { choices } = await foldEvents(start(createEngine(events).engine).generation)
    expect(choices).toMatchObject([
      { parts: [call('c1', 'f', '{"a":1}')], finish: { reason: 'tool-calls' } },
      { parts: [reasoning('hm')], finish: { reason: 'length' } },
    ])
  })

  test('an error in the stream is thrown', async () => {
    const { generation } = start(createEngine([raw('a'), new AppError('engine-failed', 'boom')]).engine)
    await expect(foldEvents(generation)).rejects.toMatchObject({ code: 'engine-failed' })
  })
})

describe('the record of a generation', () => {
  /** What is recorded of one run, which may reject. */
  async function recordsOf(engine: Engine, options: StartOptions = {}, leaveAt?: GenerationEvent['type']) {
    const records: GenerationRecord[] = []
    const record = (ended: GenerationRecord) => void records.push(ended)
    const { generation } = start(engine, { ...options, deps: { record } })
    const read = async () => {
      for await (const event of iterate(generation.run)) if (event.type === leaveAt) break
    }
    await read().catch(() => undefined)
    return records
  }

  test('the record of a generation is made once, with caller, cost and outcome', async () => {
    const principal = { id: 'alice', scopes: anyone.scopes }
    const records = await recordsOf(createEngine([raw('a'), finish, usage]).engine, { id: 'gen-1', principal })
    expect(records).toEqual([
      {
        id: 'gen-1',
        caller: 'alice',
        model: 'm',
        outcome: 'ok',
        durationMs: expect.any(Number),
        usage: { inputTokens: 3, cachedInputTokens: 1, outputTokens: 2, reasoningTokens: 0 },
        timings: expect.objectContaining({ prefillMs: 4, queueMs: 1, loadMs: 1 }),
        finishReasons: ['stop'],
      },
    ])
    expect(records[0]?.durationMs).toBeGreaterThan(0)
  })

  const overflow = new AppError('context-length-exceeded', 'too long')
  const broken = new AppError('engine-failed', 'broken')
  test.each<[string, Engine, GenerationRecord['outcome']]>([
    ['is refused', createEngine([], { prepare: overflow }).engine, 'context-length-exceeded'],
    ['fails before its first text', createEngine([broken]).engine, 'engine-failed'],
    ['fails after its first text', createEngine([raw('a'), broken]).engine, 'engine-failed'],
    ['fails by what is not ours', createEngine([raw('a'), new TypeError('oops')]).engine, 'internal'],
    ['ends without an end', createEngine([raw('a')]).engine, 'engine-failed'],
    [
      'needs a model that cannot be had',
      stubEngine({ ensureReady: () => Promise.reject(new AppError('model-unavailable', 'no')) }),
      'model-unavailable',
    ],
  ])('the record of a generation that %s is made once as well', async (_, engine, outcome) => {
    const records = await recordsOf(engine)
    expect(records).toHaveLength(1)
    expect(records[0]).toMatchObject({ model: 'm', caller: 'anyone', outcome })
    expect(records[0]).not.toHaveProperty('usage')
  })

  test('the record of a generation of a request refused by a full queue has that outcome', async () => {
    const records = await recordsOf(createEngine([raw('a'), finish, usage]).engine, { slots: 0, maxQueued: 0 })
    expect(records).toMatchObject([{ outcome: 'queue-full' }])
  })

  test('the record of a generation of a cancelled request has that outcome', async () => {
    const signal = AbortSignal.abort(new AppError('cancelled', 'gone'))
    const records = await recordsOf(createEngine([raw('a'), finish, usage]).engine, { signal })
    expect(records).toMatchObject([{ outcome: 'cancelled' }])
  })

  test('the record of a generation is made when the reader leaves, at the start or later', async () => {
    const { engine } = createEngine([raw('a'), finish, usage])
    expect(await recordsOf(engine, {}, 'start')).toHaveLength(1)
    expect(await recordsOf(engine, {}, 'text-delta')).toHaveLength(1)
  })

  test('covers all requests of a call, with their total usage', async () => {
    const records: GenerationRecord[] = []
    const deps = { now: () => 0, record: (ended: GenerationRecord) => void records.push(ended) }
    const { engine } = createEngine([raw('a'), finish, usage])
    await generate(deps, [request, { ...request, id: 'r2' }], contextOf(engine)).run(() => undefined)
    expect(records).toMatchObject([{ outcome: 'ok', usage: { inputTokens: 6, outputTokens: 4 } }])
  })
})
