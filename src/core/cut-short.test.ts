import { describe, expect, test } from 'vitest'
import { anyone, contextOf } from '../../test/support/http/context.ts'
import { call, reasoning, text } from '../../test/support/parts.ts'
import { stubEngine } from '../../test/support/upstream/stub-engine.ts'
import type { CancelReason } from '../contract/context.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import type { OutputFormat } from '../contract/output-format.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../contract/request.ts'
import { foldEvents } from '../contract/result.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { Cancellations } from './cancel/cancellations.ts'
import { generate } from './generate.ts'

const outputFormat: OutputFormat = {
  toolFormat: 'hermes',
  reasoning: { open: '<think>', close: '</think>' },
  startsInReasoning: false,
}
const request: GenerationRequest = {
  ...plainRequest,
  id: 'r',
  model: 'm',
  prompt: { type: 'chat', messages: [], ...plainChat, tools: [{ name: 'f' }] },
}
const piece = (piece: string, choice = 0): EngineEvent => ({ type: 'raw-text', choice, text: piece })
const read: EngineEvent = { type: 'prompt-read', inputTokens: 7, cachedInputTokens: 2 }

/** A generation that is cancelled when its engine has sent these events; the engine then hangs until its signal is aborted. */
function cancelAfter(steps: readonly EngineEvent[], reason: CancelReason, asked: Partial<GenerationRequest> = {}) {
  const cancellations = new Cancellations()
  const handle = cancellations.open({ id: 'r', owner: anyone.id })
  const records: GenerationRecord[] = []
  const engine = stubEngine({
    prepare: async () => ({
      outputFormat,
      inputTokens: 5,
      run: async (signal, emit) => {
        for (const step of steps) await emit(step)
        handle.cancel(reason)
        signal.throwIfAborted()
      },
    }),
  })
  const context = contextOf(engine, { signal: handle.signal })
  const deps = { now: () => performance.now(), record: (record: GenerationRecord) => records.push(record) }
  return { generation: generate(deps, [{ ...request, ...asked }], context), records, context, handle }
}

describe('a generation that its caller cancels', () => {
  test('a cancelled generation keeps its output without the tag that was cut, and finishes as cancelled', async () => {
    const { generation, records } = cancelAfter([read, piece('<think>hm</think>Yes, a <tool')], 'requested')
    const result = await foldEvents(generation)
    expect(result.choices[0]).toMatchObject({ parts: [reasoning('hm'), text('Yes, a ')], finish: { reason: 'cancelled' } })
    expect(result.usage).toMatchObject({ inputTokens: 7, cachedInputTokens: 2 })
    expect(records).toMatchObject([{ outcome: 'cancelled', usage: { inputTokens: 7 } }])
  })

  test('a cancelled generation counts the pieces of its output as tokens', async () => {
    const pieces = ['<think>', 'hm', '</think>', 'Yes', ' and', ' no'].map((text) => piece(text))
    const { usage } = await foldEvents(cancelAfter(pieces, 'requested').generation)
    expect(usage).toEqual({ inputTokens: 5, cachedInputTokens: 0, outputTokens: 4, reasoningTokens: 1 })
  })

  test('a cancelled generation keeps complete calls', async () => {
    const { generation } = cancelAfter([piece('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>')], 'requested')
    const { parts, finish } = (await foldEvents(generation)).choices[0] ?? {}
    expect(parts).toEqual([call(expect.any(String), 'f', '{"a": 1}')])
    expect(finish).toEqual({ reason: 'cancelled' })
  })

  test('finishes the choices that have not finished', async () => {
    const steps: EngineEvent[] = [piece('a', 0), piece('b', 1), { type: 'finish', choice: 0, reason: 'stop' }]
    const { choices } = await foldEvents(cancelAfter(steps, 'requested', { choices: 3 }).generation)
    expect(choices.map(({ finish }) => finish.reason)).toEqual(['stop', 'cancelled', 'cancelled'])
  })

  test('a cancelled generation is an empty reply when it has not begun', async () => {
    const { generation, handle, context, records } = cancelAfter([], 'requested')
    handle.cancel('requested')
    const events: GenerationEvent[] = []
    await generation.run((event) => void events.push(event))
    expect(events).toEqual([
      { type: 'start', model: 'm', warnings: [] },
      { type: 'finish', choice: 0, reason: 'cancelled' },
      {
        type: 'usage',
        usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
        timings: { totalMs: expect.any(Number) },
      },
    ])
    expect(records).toMatchObject([{ outcome: 'cancelled' }])
    expect(context.model.scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('a cancelled generation ends also where a call is required and none has come', async () => {
    const steps = [piece('Let me think')]
    const { choices } = await foldEvents(cancelAfter(steps, 'requested', { toolChoice: { type: 'required' } }).generation)
    expect(choices).toMatchObject([{ parts: [text('Let me think')], finish: { reason: 'cancelled' } }])
  })
})

test('a generation that reaches its deadline keeps its output, and finishes with length', async () => {
  const { choices } = await foldEvents(cancelAfter([piece('Yes')], 'deadline').generation)
  expect(choices).toMatchObject([{ parts: [text('Yes')], finish: { reason: 'length' } }])
})

test.each([
  ['client-gone', 'cancelled'],
  ['unloaded', 'model-unavailable'],
  ['shutting-down', 'shutting-down'],
] as const)('a generation that ends because of %s fails with %s', async (reason, code) => {
  const { generation } = cancelAfter([piece('Yes')], reason)
  await expect(foldEvents(generation)).rejects.toMatchObject({ code })
})
