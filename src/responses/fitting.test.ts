import { describe, expect, test } from 'vitest'
import { contextOf } from '../../test/support/http/context.ts'
import { plainSealer as sealer } from '../../test/support/plain-sealer.ts'
import { stubEngine } from '../../test/support/upstream/stub-engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { decodeResponse } from '../dialect/openai-responses/decode.ts'
import { generateFitting } from './fitting.ts'

const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }

/** A conversation of so many turns, and a server that takes the last `room` of them, which it says only after the start. */
async function shorten(turns: number, room: number, truncation: 'auto' | 'disabled' = 'auto') {
  const input = Array.from({ length: turns }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${index}`,
  }))
  const body = { model: 'm', input: [...input, { role: 'user', content: 'last' }], truncation }
  const decoded = decodeResponse(body, { id: 'resp_1', createdAtMs: 0, sealer, history: [], items: [] })
  let tries = 0
  const engine = stubEngine({
    prepare: async ({ prompt }) => ({
      run: async (_signal, emit) => {
        tries += 1
        if (prompt.type === 'chat' && prompt.messages.length > room) throw new AppError('context-length-exceeded', 'too long')
        await emit({ type: 'text-delta', choice: 0, delta: 'yes' })
        await emit({ type: 'finish', choice: 0, reason: 'stop' })
        await emit({ type: 'usage', usage, timings: {} })
      },
    }),
  })
  const events: GenerationEvent[] = []
  const records: GenerationRecord[] = []
  let dropped: readonly string[] = []
  const run = generateFitting({ now: () => 0, record: (record) => void records.push(record) }, decoded, {
    context: contextOf(engine),
    emit: (event) => void events.push(event),
    onDropped: (ids) => {
      dropped = ids
    },
  })
  const failure: unknown = await run.then(
    () => undefined,
    (error: unknown) => error,
  )
  return { dropped, tries, failure, records, starts: events.filter(({ type }) => type === 'start').length }
}

describe('a conversation that a server refuses after the start', () => {
  test.each([
    [4, 3, 2],
    [8, 2, 7],
    [8, 8, 1],
  ])('the conversation of %i turns with room for %i loses the oldest %i, and starts once', async (turns, room, gone) => {
    const { dropped, starts, records } = await shorten(turns, room)
    expect(dropped).toEqual(Array.from({ length: gone }, (_, index) => `input[${index}]`))
    expect([starts, records.map(({ outcome }) => outcome)]).toEqual([1, ['ok']])
  })

  test('the conversation of many turns takes few tries, and loses an eighth too many at most', async () => {
    const { dropped, tries } = await shorten(400, 101)
    expect(dropped.length).toBeGreaterThanOrEqual(300)
    expect(dropped.length).toBeLessThanOrEqual(338)
    expect(tries).toBeLessThan(60)
  })

  test('the conversation is refused when no turn is left, and when it may lose none', async () => {
    for (const result of [await shorten(4, 0), await shorten(4, 2, 'disabled')]) {
      expect(result).toMatchObject({
        failure: { code: 'context-length-exceeded' },
        records: [{ outcome: 'context-length-exceeded' }],
      })
    }
  })
})
