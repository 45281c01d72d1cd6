import { describe, expect, test } from 'vitest'
import { iterate } from '../../test/support/iterate.ts'
import { emitAll } from '../contract/emit.ts'
import type { Engine, PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import { type GenerationRequest, plainRequest } from '../contract/request.ts'
import { foldEvents } from '../contract/result.ts'
import { generateAll } from './generate-all.ts'
import { Admission } from './schedule/admission.ts'

const never = new AbortController().signal

function request(text: string, choices = 1): GenerationRequest {
  return { ...plainRequest, id: `r-${text}`, model: 'm', prompt: { type: 'text', text }, choices }
}

/** Answers every prompt with its own text in every choice; a prompt `bad` does not fit, and `broken` breaks. */
function createEcho() {
  const running = { now: 0, most: 0 }
  const engine: Engine = {
    state: { type: 'ready' },
    facts: {},
    ensureReady: async () => undefined,
    prepare: async ({ prompt, choices }): Promise<PreparedGeneration> => {
      const text = prompt.type === 'text' ? prompt.text : ''
      if (text === 'bad') throw new AppError('context-length-exceeded', 'too long')
      return { structured: 'full', run: (_, emit) => emitAll(echo(text, choices), emit) }
    },
    close: async () => undefined,
  }
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
  const admission = new Admission({ slots: 1, maxQueued: 0 })
  const deps = { resolveModel: () => ({ id: 'real', engine, admission }), now: () => 0 }
  return { deps, admission, running }
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const all: GenerationEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

describe('generateAll', () => {
  test('one request is that generation', async () => {
    const { deps } = createEcho()
    const generation = generateAll(deps, [request('a')], never)
    expect(generation.model).toBe('real')
    expect((await foldEvents(generation)).choices.map(({ text }) => text)).toEqual(['a0'])
  })

  test('choices are counted on, and usage and times are summed', async () => {
    const { deps } = createEcho()
    const result = await foldEvents(generateAll(deps, [request('a', 2), request('b'), request('c', 2)], never))
    expect(result.choices.map(({ text }) => text)).toEqual(['a0', 'a1', 'b0', 'c0', 'c1'])
    expect(result.usage).toEqual({ inputTokens: 6, cachedInputTokens: 3, outputTokens: 5, reasoningTokens: 0 })
    expect(result.timings).toEqual({ queueMs: 0, loadMs: 0, prefillMs: 9, decodeMs: 12, firstTokenMs: 0 })
  })

  test('many requests take one place after the other, and leave it free', async () => {
    const { deps, admission, running } = createEcho()
    const requests = Array.from({ length: 20 }, (_, index) => request(`${index}`))
    await foldEvents(generateAll(deps, [request('first'), ...requests], never))
    expect(running.most).toBe(1)
    expect(admission.busy).toBe(0)
  })

  test('the prompt is read once, and one usage ends the stream', async () => {
    const { deps } = createEcho()
    const types = (await collect(iterate(generateAll(deps, [request('a'), request('b')], never).run))).map(({ type }) => type)
    expect(types.filter((type) => type === 'prompt-read')).toHaveLength(1)
    expect(types.filter((type) => type === 'usage')).toHaveLength(1)
    expect(types.at(-1)).toBe('usage')
  })

  test('how a constraint is kept is known with the first event', async () => {
    const { deps } = createEcho()
    const generation = generateAll(deps, [request('a'), request('b')], never)
    expect(generation.structured()).toBeUndefined()
    for await (const _ of iterate(generation.run)) break
    expect(generation.structured()).toBe('full')
  })

  test('a failure of the first before its first event throws, and a later one ends the stream', async () => {
    const { deps } = createEcho()
    const code = (events: readonly GenerationEvent[]) =>
      events.map((event) => (event.type === 'error' ? event.error.code : '')).at(-1)
    await expect(collect(iterate(generateAll(deps, [request('bad'), request('a')], never).run))).rejects.toMatchObject({
      code: 'context-length-exceeded',
    })
    expect(code(await collect(iterate(generateAll(deps, [request('a'), request('bad')], never).run)))).toBe(
      'context-length-exceeded',
    )
    expect(code(await collect(iterate(generateAll(deps, [request('a'), request('broken')], never).run)))).toBe('engine-failed')
  })

  test('a reader that leaves frees the slot', async () => {
    const { deps, admission, running } = createEcho()
    for await (const event of iterate(generateAll(deps, [request('a'), request('b')], never).run)) {
      if (event.type === 'text-delta') break
    }
    expect([running.now, admission.busy]).toEqual([0, 0])
  })
})
