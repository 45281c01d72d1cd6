import { describe, expect, test } from 'vitest'
import { anyone, type ContextOptions, contextOf } from '../../test/support/http/context.ts'
import { iterate } from '../../test/support/http/iterate.ts'
import { textsOf } from '../../test/support/parts.ts'
import { stubEngine } from '../../test/support/upstream/stub-engine.ts'
import { emitAll } from '../base/emit.ts'
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
    expect(result.timings).toEqual({ queueMs: 0, loadMs: 15, prefillMs: 9, decodeMs: 12, firstTokenMs: 5, totalMs: 15 })
  })

  test('requests of one call use one ticket, and one slot one after the other', async () => {
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

/** An engine whose runs wait, each with its prompt as its name, until they are ended; those of `bad` prompts cannot be prepared. */
function createHeld(options: ContextOptions) {
  const running = new Map<string, () => void>()
  const started: string[] = []
  const engine = stubEngine({
    prepare: async ({ prompt }) => {
      const name = prompt.type === 'text' ? prompt.text : ''
      if (name === 'bad') throw new AppError('context-length-exceeded', 'too long')
      const run: PreparedGeneration['run'] = async (signal, emit) => {
        started.push(name)
        const ended = new Promise<void>((resolve, reject) => {
          running.set(name, resolve)
          signal.addEventListener('abort', () => reject(signal.reason))
        })
        try {
          await emit({ type: 'text-delta', choice: 0, delta: name })
          await ended
          await emit({ type: 'finish', choice: 0, reason: 'stop' })
          const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }
          await emit({ type: 'usage', usage, timings: {} })
        } finally {
          running.delete(name)
        }
      }
      return { inputTokens: 1, run }
    },
  })
  const context = contextOf(engine, options)
  const { scheduler } = context.model
  const names = () => [...running.keys()]
  const untilRunning = async (...wanted: readonly string[]) => {
    while (!wanted.every((name) => running.has(name))) await immediate()
    // Whatever else would begin has had the time to.
    for (let turn = 0; turn < 5; turn++) await immediate()
  }
  const end = (name: string) => running.get(name)?.()
  const endAll = async (whole: Promise<unknown>) => {
    let isOver = false
    const over = whole.finally(() => {
      isOver = true
    })
    while (!isOver) {
      for (const name of names()) end(name)
      await immediate()
    }
    await over
  }
  return { context, scheduler, started, names, untilRunning, end, endAll }
}

const immediate = () => new Promise<void>((resolve) => setImmediate(resolve))
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index}`)

function batchOf([first = '', ...rest]: readonly string[]): [GenerationRequest, ...GenerationRequest[]] {
  return [request(first), ...rest.map((text) => request(text))]
}

describe('several requests of one call on several slots', () => {
  const deps = { now: () => 0 }

  test('the requests run side by side, and the reply has their answers in order, no matter which ends first', async () => {
    const { context, scheduler, names, untilRunning, end } = createHeld({ slots: 64, maxQueued: 0 })
    const result = foldEvents(generate(deps, batchOf(numbered(16)), context))
    await untilRunning(...numbered(16))
    expect(scheduler.load).toMatchObject({ busy: 16, queued: 0 })
    for (const name of names().reverse()) {
      end(name)
      await immediate()
    }
    expect(textsOf(await result)).toEqual(numbered(16))
    expect((await result).usage).toMatchObject({ inputTokens: 16, outputTokens: 16 })
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test('the requests run on no more slots than there are, each as soon as one is free', async () => {
    const { context, started, names, untilRunning, end, endAll } = createHeld({ slots: 3, maxQueued: 0 })
    const result = foldEvents(generate(deps, batchOf(numbered(9)), context))
    await untilRunning('0', '1', '2')
    expect(names()).toEqual(['0', '1', '2'])
    // One that runs beside the ticket of the request, and the one on it.
    for (const [over, next] of [
      ['1', '3'],
      ['0', '4'],
    ] as const) {
      end(over)
      await untilRunning(next)
      expect(names()).toHaveLength(3)
    }
    await endAll(result)
    expect(started).toEqual(numbered(9))
  })

  test('the requests give the first slot that is free to another caller, however many are left', async () => {
    const { context, names, untilRunning, end, endAll } = createHeld({ slots: 4, maxQueued: 1 })
    const batch = foldEvents(generate(deps, batchOf(numbered(100)), context))
    await untilRunning('0', '1', '2', '3')
    const principal = { ...anyone, id: 'another' }
    const another = foldEvents(generate(deps, [request('another')], { ...context, id: 'another', principal }))
    await immediate()
    expect(names()).toEqual(['0', '1', '2', '3'])
    end('2')
    await untilRunning('another')
    expect(names()).toEqual(['0', '1', '3', 'another'])
    await endAll(Promise.all([batch, another]))
  })

  test('the requests leave a slot to each request that has entered and is not ready to run', async () => {
    const { context, scheduler, names, untilRunning, endAll } = createHeld({ slots: 3, maxQueued: 0 })
    const ticket = scheduler.enter({ ...context, principal: { ...anyone, id: 'another' } })
    const batch = foldEvents(generate(deps, batchOf(numbered(5)), context))
    await untilRunning('0', '1')
    expect(names()).toEqual(['0', '1'])
    expect(ticket.slot({}, context.signal)).toBeUndefined()
    ticket.leave()
    await endAll(batch)
  })

  test('the requests end together when one fails, whose index is reported, and free their slots', async () => {
    const { context, scheduler, names } = createHeld({ slots: 8, maxQueued: 0 })
    const failed: number[] = []
    const noting = { ...deps, onFailed: (index: number) => void failed.push(index) }
    const batch = foldEvents(generate(noting, batchOf([...numbered(3), 'bad', '4', '5']), context))
    await expect(batch).rejects.toMatchObject({ code: 'context-length-exceeded' })
    expect(failed).toEqual([3])
    expect(names()).toEqual([])
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
  })

  test.each([1, 4, 64])('all end with a cancel, on %i slots, and with the output so far where that is kept', async (slots) => {
    for (const keepsOutput of [undefined, 'cancelled'] as const) {
      const controller = new AbortController()
      const { context, scheduler, names, untilRunning } = createHeld({ slots, maxQueued: 0, signal: controller.signal })
      const batch = foldEvents(generate(deps, batchOf(numbered(16)), context))
      const noted = batch.catch((error: unknown) => error)
      const running = numbered(Math.min(slots, 16))
      await untilRunning(...running)
      controller.abort(new AppError('cancelled', 'stop', keepsOutput === undefined ? {} : { keepsOutput }))
      if (keepsOutput === undefined) expect(await noted).toMatchObject({ code: 'cancelled' })
      else {
        const { choices } = await batch
        expect(choices.map(({ finish }) => finish.reason)).toEqual(Array(16).fill('cancelled'))
        expect(textsOf(await batch).filter((text) => text !== '')).toEqual(running)
      }
      expect(names()).toEqual([])
      expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
    }
  })

  test('the requests have one reader, which gets no event while it is busy with another', async () => {
    const { context, endAll } = createHeld({ slots: 8, maxQueued: 0 })
    let isBusy = false
    const types: string[] = []
    const batch = generate(deps, batchOf(numbered(8)), context).run(async ({ type }) => {
      expect(isBusy).toBe(false)
      isBusy = true
      types.push(type)
      await immediate()
      isBusy = false
    })
    await endAll(batch)
    expect([types[0], types.at(-1), types.filter((type) => type === 'finish').length]).toEqual(['start', 'usage', 8])
  })
})
