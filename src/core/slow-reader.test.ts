import { describe, expect, test } from 'vitest'
import { contextOf } from '../../test/support/http/context.ts'
import { playingEngine, shortUsage, stubEngine } from '../../test/support/upstream/stub-engine.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import { plainRequest } from '../contract/request.ts'
import { generate } from './generate.ts'

const request = { ...plainRequest, id: 'r', model: 'm', prompt: { type: 'text', text: 'x' } } as const
const text: EngineEvent = { type: 'raw-text', choice: 0, text: 'a' }
const finish: EngineEvent = { type: 'finish', choice: 0, reason: 'stop' }
const immediate = () => new Promise<void>((resolve) => setImmediate(resolve))

type GivenEvent = { readonly type: string; readonly reason?: string }

/** A run whose reader is busy with the first event of a type until `read` is called. */
function startSlow(engine: Engine, busyWith: GenerationEvent['type'], requests = 1) {
  const controller = new AbortController()
  const ends: number[] = []
  const context = contextOf(engine, { signal: controller.signal, onWorkEnded: () => void ends.push(given.length) })
  const given: GivenEvent[] = []
  let read: () => void = () => undefined
  const reading = new Promise<void>((resolve) => {
    read = resolve
  })
  const all = Array.from({ length: requests }, (_, index) => ({ ...request, id: `r${index}` }))
  const ended = generate({ now: () => 0 }, [request, ...all.slice(1)], context).run((event) => {
    given.push({ type: event.type, ...(event.type === 'finish' && { reason: event.reason }) })
    return event.type === busyWith ? reading : undefined
  })
  const load = () => {
    const { busy, queued } = context.model.scheduler.load
    return { busy, queued }
  }
  return { context, given, ends, load, read, ended, cancel: (error: AppError) => controller.abort(error) }
}

const types = (given: readonly GivenEvent[]) => given.map(({ type }) => type)

describe('the slot of a run whose reader is slow', () => {
  test.each([1, 2])('the slot is free before the last event of %i requests is read, which comes last', async (requests) => {
    const { given, ends, load, read, ended } = startSlow(playingEngine([text, finish, shortUsage]), 'usage', requests)
    while (types(given).at(-1) !== 'usage') await immediate()
    expect(load()).toEqual({ busy: 0, queued: 0 })
    // The work had ended before the reader got the event.
    expect(ends).toEqual([given.length - 1])
    read()
    await ended
    expect(types(given).filter((type) => type === 'usage')).toHaveLength(1)
  })

  test('the slot goes to the next request while the last event is read', async () => {
    const first = startSlow(playingEngine([text, finish, shortUsage]), 'usage')
    const second = generate({ now: () => 0 }, [request], { ...first.context, id: 'second' }).run(() => undefined)
    await second
    expect(types(first.given).at(-1)).toBe('usage')
    first.read()
    await first.ended
  })

  test('the slot is free, and its reply complete, when the engine fails after its last event', async () => {
    const { given, load, ended } = startSlow(playingEngine([text, finish, shortUsage, new Error('cleanup')]), 'error')
    await ended
    expect(types(given).slice(-2)).toEqual(['finish', 'usage'])
    expect(load()).toEqual({ busy: 0, queued: 0 })
  })
})

describe('a cancel of a run whose reader has stopped reading', () => {
  const requested = new AppError('cancelled', 'the request was cancelled', { keepsOutput: 'cancelled' })
  const gone = new AppError('cancelled', 'the client left')

  test('the cancel frees the slot; the reader gets the end when it reads again, in order', async () => {
    const { given, load, read, ended, cancel } = startSlow(playingEngine([text, text, finish, shortUsage]), 'text-delta')
    while (types(given).at(-1) !== 'text-delta') await immediate()
    expect(load()).toEqual({ busy: 1, queued: 0 })
    cancel(requested)
    await immediate()
    expect(load()).toEqual({ busy: 0, queued: 0 })
    expect(types(given).at(-1)).toBe('text-delta')
    read()
    await ended
    expect(given.slice(3)).toEqual([{ type: 'text-end' }, { type: 'finish', reason: 'cancelled' }, { type: 'usage' }])
  })

  test('a run without kept output ends with the error of the cancel', async () => {
    const { given, load, read, ended, cancel } = startSlow(playingEngine([text, finish, shortUsage]), 'text-delta')
    while (types(given).at(-1) !== 'text-delta') await immediate()
    cancel(gone)
    await immediate()
    expect(load()).toEqual({ busy: 0, queued: 0 })
    expect(types(given).at(-1)).toBe('text-delta')
    read()
    await ended
    expect(types(given).at(-1)).toBe('error')
  })

  test('the cancel does not free the slot before the engine has stopped', async () => {
    let stopped: () => void = () => undefined
    const stopping = new Promise<void>((resolve) => {
      stopped = resolve
    })
    const engine = stubEngine({
      prepare: async () => ({
        run: async (signal, emit) => {
          await emit(text)
          await stopping
          signal.throwIfAborted()
        },
      }),
    })
    const { given, load, read, ended, cancel } = startSlow(engine, 'text-delta')
    while (types(given).at(-1) !== 'text-delta') await immediate()
    cancel(requested)
    await immediate()
    expect(load()).toEqual({ busy: 1, queued: 0 })
    stopped()
    await immediate()
    expect(load()).toEqual({ busy: 0, queued: 0 })
    read()
    await ended
  })
})
