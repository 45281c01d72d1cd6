import { describe, expect, test } from 'vitest'
import { AppError } from './errors.ts'
import type { GenerationEvent } from './event.ts'
import { seal } from './seal.ts'

const text: GenerationEvent = { type: 'text-delta', choice: 0, delta: 'a' }
const usage: GenerationEvent = {
  type: 'usage',
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 },
  timings: {},
}
const failure = new AppError('engine-failed', 'broken')

async function* source(...steps: (GenerationEvent | Error)[]): AsyncGenerator<GenerationEvent> {
  for (const step of steps) {
    if (step instanceof Error) throw step
    yield step
  }
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const all: GenerationEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

describe('seal', () => {
  test('a whole stream passes unchanged', async () => {
    expect(await collect(seal(source(text, usage)))).toEqual([text, usage])
  })

  test('a failure before the first event throws, so that it can become a real status', async () => {
    await expect(collect(seal(source(failure)))).rejects.toBe(failure)
  })

  test('an error event that comes first throws as well', async () => {
    await expect(collect(seal(source({ type: 'error', error: failure })))).rejects.toBe(failure)
  })

  test('a failure after the first event is one last error event', async () => {
    expect(await collect(seal(source(text, failure)))).toEqual([text, { type: 'error', error: failure }])
  })

  test('an unknown failure becomes an internal error with its cause', async () => {
    const cause = new TypeError('oops')
    const events = await collect(seal(source(text, cause)))
    expect(events[1]).toMatchObject({ type: 'error', error: { code: 'internal', cause } })
  })

  test('a stream that just stops has failed', async () => {
    const events = await collect(seal(source(text)))
    expect(events[1]).toMatchObject({ type: 'error', error: { code: 'engine-failed' } })
  })

  test('nothing follows the terminal event', async () => {
    expect(await collect(seal(source(text, usage, text)))).toEqual([text, usage])
  })

  test('a cleanup failure after the terminal event does not spoil the reply', async () => {
    async function* untidy(): AsyncGenerator<GenerationEvent> {
      try {
        yield text
        yield usage
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: this is the fault under test
        throw new Error('cleanup failed')
      }
    }
    expect(await collect(seal(untidy()))).toEqual([text, usage])
  })
})
