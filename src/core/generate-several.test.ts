import { describe, expect, test } from 'vitest'
import { contextOf } from '../../test/support/context.ts'
import { iterate } from '../../test/support/iterate.ts'
import { textsOf } from '../../test/support/parts.ts'
import { stubEngine } from '../../test/support/stub-engine.ts'
import { emitAll } from '../contract/emit.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import { type GenerationRequest, plainRequest } from '../contract/request.ts'
import { foldEvents } from '../contract/result.ts'
import { generate } from './generate.ts'

function request(text: string, choices = 1): GenerationRequest {
  return { ...plainRequest, id: `r-${text}`, model: 'm', prompt: { type: 'text', text }, choices }
}

/** Answers every prompt with its own text in every choice; a prompt `bad` does not fit, and `broken` breaks. */
function createEcho() {
  const running = { now: 0, most: 0 }
  let nowMs = 0
  const engine = stubEngine({
    ensureReady: async () => {
      nowMs += 5
    },
    prepare: async ({ prompt, choices }): Promise<PreparedGeneration> => {
      const text = prompt.type === 'text' ? prompt.text : ''
      if (text === 'bad') throw new AppError('context-length-exceeded', 'too long')
      return { structured: 'full', inputTokens: 2, run: (_, emit) => emitAll(echo(text, choices), emit) }
    },
  })
  async function* echo(text: string, choices: number): AsyncGenerator<EngineEvent> {
    running.now += 1
    running.most = Math.max(running.most, running.now)
    try {
      yield { type: 'prompt-read', inputTokens: 2, cachedInputTokens: 1 }
      if (text === 'broken') throw new AppError('engine-failed', 'broke')
      for (let choice = 0; choice < choices; choice++) yield { type: 'text-delta', choice, delta: `${text}${choice}` }
      for (let choice = 0; choice < choices; choice++) yield { type: 'finish', choice, reason: 'stop' }
      yield {
        type: 'usage',
        usage: { inputTokens: 2, cachedInputTokens: 1, outputTokens: choices, reasoningTokens: 0 },
        timings: { prefillMs: 3, decodeMs: 4 },
      }
    } finally {
      running.now -= 1
    }
  }
  const context = contextOf(engine, { slots: 1, maxQueued: 0, receivedAtMs: 0 })
  const load = () => context.model.scheduler.load
  const run = (...requests: [GenerationRequest, ...GenerationRequest[]]) => generate({ now: () => nowMs }, requests, context)
  return { run, load, running }
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const all: GenerationEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

describe('several requests of one call', () => {
  test('one request is that generation', async () => {
    const result = await foldEvents(createEcho().run(request('a')))
    expect(result.start).toMatchObject({ model: 'm', inputTokens: 2 })
    expect(textsOf(result)).toEqual(['a0'])
  })

  test('choice numbers continue, and usage and times are summed', async () => {
    const result = await foldEvents(createEcho().run(request('a', 2), request('b'), request('c', 2)))
    expect(textsOf(result)).toEqual(['a0', 'a1', 'b0', 'c0', 'c1'])
    expect(result.usage).toEqual({ inputTokens: 6, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 0 })
    expect(result.timings).toEqual({ queueMs: 0, loadMs: 15, prefillMs: 9, decodeMs: 12, firstTokenMs: 5 })
  })

  test('requests of one call use one ticket one after the other', async () => {
    const { run, load, running } = createEcho()
    const requests = Array.from({ length: 20 }, (_, index) => request(`${index}`))
    await foldEvents(run(request('first'), ...requests))
    expect(running.most).toBe(1)
    expect(load()).toMatchObject({ busy: 0, queued: 0 })
  })

  test('one prompt-read is reported, and one usage ends the stream', async () => {
    const events = await collect(iterate(createEcho().run(request('a'), request('b')).run))
    const types = events.map(({ type }) => type)
    expect(types.filter((type) => type === 'prompt-read')).toHaveLength(1)
    expect(types.filter((type) => type === 'usage')).toHaveLength(1)
    expect(types.at(-1)).toBe('usage')
    // The count of the first prompt would look like that of all.
    expect(events.filter(({ type }) => type === 'start')).toEqual([
      { type: 'start', model: 'm', structured: 'full', warnings: [] },
    ])
  })

  test('the start event reports how a constraint is enforced', async () => {
    for await (const event of iterate(createEcho().run(request('a'), request('b')).run)) {
      expect(event).toMatchObject({ type: 'start', structured: 'full' })
      break
    }
    expect.assertions(1)
  })

  test('a failure of the first before its first event throws, and a later one ends the stream', async () => {
    const { run } = createEcho()
    const code = (events: readonly GenerationEvent[]) =>
      events.map((event) => (event.type === 'error' ? event.error.code : '')).at(-1)
    await expect(collect(iterate(run(request('bad'), request('a')).run))).rejects.toMatchObject({
      code: 'context-length-exceeded',
    })
    expect(code(await collect(iterate(run(request('a'), request('bad')).run)))).toBe('context-length-exceeded')
    expect(code(await collect(iterate(run(request('a'), request('broken')).run)))).toBe('engine-failed')
  })

  test('a reader that leaves frees the slot', async () => {
    const { run, load, running } = createEcho()
    for await (const event of iterate(run(request('a'), request('b')).run)) {
      if (event.type === 'text-delta') break
    }
    expect([running.now, load().busy, load().queued]).toEqual([0, 0, 0])
  })
})
