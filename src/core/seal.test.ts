import { describe, expect, test } from 'vitest'
import type { Emit } from '../base/emit.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import { seal } from './seal.ts'

const start: GenerationEvent = { type: 'start', model: 'm', warnings: [] }
const text: GenerationEvent = { type: 'text-delta', choice: 0, delta: 'a' }
const usage: GenerationEvent = {
  type: 'usage',
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 },
  timings: {},
}
const { signal } = new AbortController()
const failure = new AppError('engine-failed', 'broken')

function source(...steps: (GenerationEvent | Error)[]) {
  return async (emit: Emit<GenerationEvent>) => {
    for (const step of steps) {
      if (step instanceof Error) throw step
      await emit(step)
    }
  }
}

async function sealed(run: (emit: Emit<GenerationEvent>) => Promise<void>, ending = signal): Promise<GenerationEvent[]> {
  const all: GenerationEvent[] = []
  const emit = (event: GenerationEvent) => {
    all.push(event)
    return undefined
  }
  await seal(run, emit, ending)
  return all
}

describe('seal', () => {
  test('a complete stream passes unchanged', async () => {
    expect(await sealed(source(text, usage))).toEqual([text, usage])
  })

  test('a failure before the first event rejects', async () => {
    await expect(sealed(source(failure))).rejects.toBe(failure)
  })

  test('an error event that comes first throws as well', async () => {
    await expect(sealed(source({ type: 'error', error: failure }))).rejects.toBe(failure)
  })

  test.each([
    ['thrown', failure],
    ['emitted', { type: 'error', error: failure } as const],
  ])('a failure that is %s right after the start throws as well: nothing has been generated', async (_, step) => {
    const seen: string[] = []
    const note = (event: GenerationEvent) => {
      seen.push(event.type)
      return undefined
    }
    const sealing = seal(source(start, step), note, signal)
    await expect(sealing).rejects.toBe(failure)
    expect(seen).toEqual(['start'])
  })

  test('a stream that stops right after its start throws', async () => {
    await expect(sealed(source(start))).rejects.toMatchObject({ code: 'engine-failed' })
  })

  test('a start passes, and a failure after the next event is one last error event', async () => {
    expect(await sealed(source(start, text, failure))).toEqual([start, text, { type: 'error', error: failure }])
    const read: GenerationEvent = { type: 'prompt-read', inputTokens: 1, cachedInputTokens: 0 }
    expect(await sealed(source(start, read, failure))).toEqual([start, read, { type: 'error', error: failure }])
  })

  test('a reader that throws at the start event makes it reject', async () => {
    const refuse = () => Promise.reject(failure)
    await expect(seal(source(start, text, usage), refuse, signal)).rejects.toBe(failure)
  })

  test('a failure after the first event is one last error event', async () => {
    expect(await sealed(source(text, failure))).toEqual([text, { type: 'error', error: failure }])
  })

  test('an unknown failure becomes an internal error with its cause', async () => {
    const cause = new TypeError('oops')
    const events = await sealed(source(text, cause))
    expect(events[1]).toMatchObject({ type: 'error', error: { code: 'internal', cause } })
  })

  test('after an abort, the reason of the signal is the failure, no matter what the engine throws', async () => {
    const reason = new AppError('cancelled', 'enough')
    const abortError = new DOMException('This operation was aborted', 'AbortError')
    await expect(sealed(source(abortError), AbortSignal.abort(reason))).rejects.toBe(reason)
    const events = await sealed(source(text, abortError), AbortSignal.abort(reason))
    expect(events).toEqual([text, { type: 'error', error: reason }])
  })

  test('a stream without a terminal event has failed', async () => {
    const events = await sealed(source(text))
    expect(events[1]).toMatchObject({ type: 'error', error: { code: 'engine-failed' } })
  })

  test('nothing follows the terminal event', async () => {
    expect(await sealed(source(text, usage, text))).toEqual([text, usage])
  })

  test('a cleanup failure after the terminal event is ignored', async () => {
    const untidy = async (emit: Emit<GenerationEvent>) => {
      await source(text, usage)(emit)
      throw new Error('cleanup failed')
    }
    expect(await sealed(untidy)).toEqual([text, usage])
  })

  test('an error thrown by the reader ends the run and is the last event', async () => {
    const seen: string[] = []
    const read = (event: GenerationEvent) => {
      seen.push(event.type)
      if (seen.length === 2) throw failure
      return undefined
    }
    await seal(source(text, text, usage), read, signal)
    expect(seen).toEqual(['text-delta', 'text-delta', 'error'])
  })
})
