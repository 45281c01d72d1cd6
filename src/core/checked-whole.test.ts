import { expect, test } from 'vitest'
import { contextOf } from '../../test/support/http/context.ts'
import { iterate } from '../../test/support/http/iterate.ts'
import { playingEngine } from '../../test/support/upstream/stub-engine.ts'
import type { RequestContext } from '../contract/context.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../contract/request.ts'
import { foldEvents } from '../contract/result.ts'
import type { Validator } from '../contract/validator.ts'
import { generate } from './generate.ts'

/** Accepts only `"good"`. */
const validator: Validator = {
  inputSchema: async () => ({}),
  canCheck: async () => true,
  check: async (_, text) => (text === '"good"' ? undefined : 'it is not good'),
}
const usage: EngineEvent = {
  type: 'usage',
  usage: { inputTokens: 3, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 1 },
  timings: {},
}
const says = (...texts: readonly string[]): EngineEvent[] => [
  ...texts.map((text, choice) => ({ type: 'raw-text', choice, text }) as const),
  ...texts.map((_, choice) => ({ type: 'finish', choice, reason: 'stop' }) as const),
]
const request: GenerationRequest = {
  ...plainRequest,
  id: 'r',
  model: 'm',
  prompt: { type: 'chat', ...plainChat, messages: [] },
  output: { type: 'json-schema', schema: { const: 'good' }, strict: false },
}

/** Plays one reply after the other. */
async function play(
  replies: readonly (readonly (EngineEvent | Error)[])[],
  context: Partial<RequestContext> = { isWhole: true },
) {
  const asked: GenerationRequest[] = []
  const engines = replies.map((steps) => playingEngine([...steps, usage], { structured: 'partial' }))
  const engine: Engine = {
    ...(engines[0] as Engine),
    prepare: (request, signal) => {
      asked.push(request)
      return (engines[asked.length - 1] as Engine).prepare(request, signal)
    },
  }
  const choices = replies[0]?.filter((step) => 'type' in step && step.type === 'finish').length || 1
  const wanted = { ...request, choices, sampling: { seed: 7 } }
  const { run } = generate({ now: () => 0, validator }, [wanted], contextOf(engine, context))
  const events: GenerationEvent[] = []
  const error = await (async () => {
    for await (const event of iterate(run)) events.push(event)
  })().catch((error: unknown) => error)
  const text = events.map((event) => (event.type === 'text-delta' ? `${event.choice}${event.delta}` : '')).join('')
  return { events, text, asked, error, last: events.at(-1) }
}

test('a whole reply that breaks its schema is generated once more, with another seed; its usage is that of both', async () => {
  const { text, asked, last, error } = await play([says('"bad"'), says('"good"')])
  expect([text, error]).toEqual(['0"good"', undefined])
  expect(asked.map(({ sampling }) => sampling.seed)).toEqual([7, 8])
  expect(last).toMatchObject({ type: 'usage', usage: { inputTokens: 3, outputTokens: 4, reasoningTokens: 2 } })
})

test('one that keeps it is generated once', async () => {
  const { text, asked, last } = await play([says('"good"')])
  expect([text, asked.length]).toEqual(['0"good"', 1])
  expect(last).toMatchObject({ type: 'usage', usage: { outputTokens: 2 } })
})

test('all choices are generated once more when one of them breaks it', async () => {
  const { text, asked } = await play([says('"good"', '"bad"'), says('"good"', '"good"')])
  expect([text, asked.length, asked[1]?.sampling.seed]).toEqual(['0"good"1"good"', 2, 9])
})

test('a second one that breaks it is an error', async () => {
  const { asked, last } = await play([says('"bad"'), says('"worse"')])
  expect(asked).toHaveLength(2)
  expect(last).toMatchObject({ type: 'error', error: { code: 'invalid-output' } })
})

test('a stream, whose text the client has, is not generated again', async () => {
  const { asked, last } = await play([says('"bad"')], {})
  expect(asked).toHaveLength(1)
  expect(last).toMatchObject({ type: 'error', error: { code: 'invalid-output' } })
})

test('a failure of the engine is not repeated, and comes before all events', async () => {
  const { asked, events, error } = await play([[...says('"good"').slice(0, 1), new AppError('upstream-failed', 'gone')]])
  expect([asked.length, events, error]).toMatchObject([1, [{ type: 'start' }], { code: 'upstream-failed' }])
})

test('what there is of a reply that ends early is kept, and a choice that breaks its schema is not complete', async () => {
  const ended = new AbortController()
  const engine = playingEngine([], { structured: 'partial' })
  const prepare: Engine['prepare'] = async (request, signal) => ({
    ...(await engine.prepare(request, signal)),
    run: async (_, emit) => {
      await emit({ type: 'raw-text', choice: 0, text: '"go' })
      await emit({ type: 'raw-text', choice: 1, text: '"bad"' })
      await emit({ type: 'finish', choice: 1, reason: 'stop' })
      ended.abort(new AppError('cancelled', 'its time is over', { keepsOutput: 'length' }))
      throw ended.signal.reason
    },
  })
  const context = contextOf({ ...engine, prepare }, { isWhole: true, signal: ended.signal })
  const { run } = generate({ now: () => 0, validator }, [{ ...request, choices: 2 }], context)
  const { choices } = await foldEvents({ run })
  expect(choices).toMatchObject([
    { parts: [{ text: '"go' }], finish: { reason: 'length' } },
    { parts: [{ text: '"bad"' }], finish: { reason: 'length' } },
  ])
})
