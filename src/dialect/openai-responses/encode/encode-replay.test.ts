import { describe, expect, test } from 'vitest'
import type { GenerationEvent } from '../../../contract/event.ts'
import { brief, called, checked, finished, say, stream, think } from '../__fixtures__/encode.ts'
import { encodeEnd, isEnd, readStoredEvent, replayResponse } from './encode-replay.ts'

const tools = [
  { type: 'function', name: 'f' },
  { type: 'custom', name: 'c' },
]
const refused: readonly GenerationEvent[] = [{ type: 'refusal-delta', choice: 0, delta: 'No.' }, ...finished('refusal')]

describe('the stream of a stored response', () => {
  test.each<[string, readonly GenerationEvent[], object]>([
    ['a text', [say('Hello'), ...finished()], {}],
    ['a thought and a text', [think('Hm.'), { type: 'reasoning-end', choice: 0 }, say('a'), ...finished()], {}],
    [
      'a summarised thought',
      [think('Hm.'), { type: 'reasoning-end', choice: 0 }, ...finished()],
      { reasoning: { summary: 'auto' } },
    ],
    ['calls', [...called('c1', 'f', '{}'), ...called('c2', 'c', 'x', 'custom'), ...finished('tool-calls')], { tools }],
    ['a refusal', refused, {}],
    ['a text that was truncated', [say('Hel'), ...finished('length')], {}],
    ['nothing', finished(), {}],
  ])('is that of one that was made at once: %s', (_, events, fields) => {
    const original = stream(events, fields)
    const response = original.at(-1)?.response
    if (typeof response !== 'object' || response === null) throw new Error('the stream has no end')
    const again = checked(replayResponse({ ...response }))
    expect(brief(again)).toEqual(brief(original))
    expect(again.at(-1)).toEqual(original.at(-1))
  })
})

test.each([
  ['completed', 'response.completed'],
  ['failed', 'response.failed'],
  ['incomplete', 'response.incomplete'],
  ['cancelled', 'response.incomplete'],
])('a response that is %s ends with %s', (status, type) => {
  const end = encodeEnd({ id: 'resp_1', status }, 7)
  expect(end).toEqual({ type, sequence_number: 7, response: { id: 'resp_1', status } })
  expect(isEnd(end)).toBe(true)
})

test('a stored event reads back; another text is an error', () => {
  const [created] = stream([])
  expect(readStoredEvent(JSON.stringify(created))).toEqual(created)
  for (const text of ['3', '[]', '{}', '{"type":"x"}']) expect(() => readStoredEvent(text)).toThrow('a stored event')
})
