import { describe, expect, test } from 'vitest'
import { iterate } from '../../test/support/iterate.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import type { OutputFormat } from '../contract/output-format.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../contract/request.ts'
import { foldEvents } from '../contract/result.ts'
import { generate } from './generate.ts'
import { Admission } from './schedule/admission.ts'

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

/** An engine that plays a list, and says whether its iteration was closed. */
function createEngine(steps: readonly (EngineEvent | Error)[], options: { prepare?: Error; outputFormat?: OutputFormat } = {}) {
  const facts = { closed: 0, prepared: 0 }
  const engine: Engine = {
    state: { type: 'ready' },
    facts: {},
    ensureReady: async () => undefined,
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
    close: async () => undefined,
  }
  return { engine, facts }
}

function start(engine: Engine, signal = never, admission = new Admission({ slots: 1, maxQueued: 1 }), asked = request) {
  let nowMs = 0
  const deps = { resolveModel: () => ({ id: 'real', engine, admission }), now: () => nowMs++ }
  return { generation: generate(deps, asked, signal), admission }
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const all: GenerationEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

test.each<[Partial<GenerationRequest>, string]>([
  [{ promptTokens: {} }, 'echo'],
  [{ minOutputTokens: 1 }, 'min_tokens'],
])('%j is refused where the engine does not say that it honours it', async (asked, param) => {
  const { engine } = createEngine([raw('a'), finish, usage])
  const { generation, admission } = start(engine, never, undefined, { ...request, ...asked })
  await expect(collect(iterate(generation.run))).rejects.toMatchObject({ code: 'unsupported-field', param })
  expect(admission.busy).toBe(0)
})

describe('an answer that is read by its format', () => {
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
    return await foldEvents(start(engine, never, undefined, asked).generation)
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
    expect(choices[0]?.toolCalls.length).toBe(text.includes('"g"') ? 0 : 1)
  })

  test('reasoning is apart from it, and its tokens are counted where the engine did not', async () => {
    const steps = ['<think>', 'hm', '</think>', 'Yes.'].map(raw)
    const { generation } = start(createEngine([...steps, finish, usage], { outputFormat }).engine, never, undefined, asked)
    expect(await foldEvents(generation)).toMatchObject({
      choices: [{ text: 'Yes.', reasoning: 'hm', finish: { reason: 'stop' } }],
      usage: { reasoningTokens: 2 },
    })
  })
})

describe('generate', () => {
  test('says which model serves, parses the raw text and adds the times it knows', async () => {
    const { generation, admission } = start(createEngine([raw('a'), raw('b'), finish, usage]).engine)
    expect(generation.model).toBe('real')
    const events = await collect(iterate(generation.run))
    expect(events.map((event) => event.type)).toEqual(['text-start', 'text-delta', 'text-delta', 'text-end', 'finish', 'usage'])
    expect(events.at(-1)).toMatchObject({ timings: { prefillMs: 4, queueMs: 1, loadMs: 1, firstTokenMs: expect.any(Number) } })
    expect(admission.busy).toBe(0)
  })

  test('an unknown model throws at once', () => {
    const resolveModel = () => {
      throw new AppError('model-not-found', 'no')
    }
    expect(() => generate({ resolveModel, now: () => 0 }, request, never)).toThrow(
      expect.objectContaining({ code: 'model-not-found' }),
    )
  })

  test('a request that the engine refuses takes no slot', async () => {
    const { generation, admission } = start(
      createEngine([], { prepare: new AppError('context-length-exceeded', 'too long') }).engine,
    )
    await expect(collect(iterate(generation.run))).rejects.toMatchObject({ code: 'context-length-exceeded' })
    expect(admission.busy).toBe(0)
  })

  test('a reader that leaves closes the engine, then frees the slot', async () => {
    const { engine, facts } = createEngine([raw('a'), raw('b'), finish, usage])
    const { generation, admission } = start(engine)
    for await (const event of iterate(generation.run)) if (event.type === 'text-delta') break
    expect(facts.closed).toBe(1)
    expect(admission.busy).toBe(0)
  })

  test('an engine that ignores its signal is stopped at its next event', async () => {
    const controller = new AbortController()
    const { engine, facts } = createEngine([raw('a'), raw('b'), finish, usage])
    const { generation } = start(engine, controller.signal)
    const events: GenerationEvent[] = []
    for await (const event of iterate(generation.run)) {
      events.push(event)
      if (event.type === 'text-delta') controller.abort(new AppError('cancelled', 'enough'))
    }
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'cancelled' } })
    expect(facts.closed).toBe(1)
  })

  test('a failing engine frees the slot', async () => {
    const { generation, admission } = start(createEngine([raw('a'), new Error('boom')]).engine)
    expect((await collect(iterate(generation.run))).at(-1)).toMatchObject({ type: 'error', error: { code: 'internal' } })
    expect(admission.busy).toBe(0)
  })

  test('while all slots are busy a request waits, and leaves when it is cancelled', async () => {
    const admission = new Admission({ slots: 1, maxQueued: 1 })
    await admission.enter().takeSlot(never)
    const controller = new AbortController()
    const { engine, facts } = createEngine([raw('a'), finish, usage])
    const { generation } = start(engine, controller.signal, admission)
    const ended = collect(iterate(generation.run))
    while (facts.prepared === 0) await Promise.resolve()
    controller.abort(new AppError('cancelled', 'left'))
    await expect(ended).rejects.toMatchObject({ code: 'cancelled' })
    expect(facts).toMatchObject({ prepared: 1, closed: 0 })
    expect(admission.queued).toBe(0)
  })
})

describe('foldEvents', () => {
  test('a folded stream is the whole reply', async () => {
    const { generation } = start(createEngine([raw('a'), raw('b'), finish, usage]).engine)
    expect(await foldEvents(generation)).toMatchObject({
      choices: [{ text: 'ab', reasoning: '', toolCalls: [], finish: { reason: 'stop' } }],
      usage: { inputTokens: 3, outputTokens: 2 },
    })
  })

  test('tool calls, reasoning and several choices are kept apart', async () => {
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
      { toolCalls: [{ id: 'c1', name: 'f', arguments: '{"a":1}' }], finish: { reason: 'tool-calls' } },
      { reasoning: 'hm', finish: { reason: 'length' } },
    ])
  })

  test('an error in the stream is thrown', async () => {
    const { generation } = start(createEngine([raw('a'), new AppError('engine-failed', 'boom')]).engine)
    await expect(foldEvents(generation)).rejects.toMatchObject({ code: 'engine-failed' })
  })
})
