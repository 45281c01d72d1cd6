import { describe, expect, test } from 'vitest'
import { ReplySpeed } from './reply-speed.ts'

/** The line about a reply that is asked for at 0 and whose parts arrive at these times, in milliseconds. */
function described(partsMs: readonly number[], outputTokens: number | undefined) {
  const times = [0, ...partsMs]
  const speed = new ReplySpeed(() => times.shift() ?? 0)
  for (const _ of partsMs) speed.mark()
  return speed.describe(outputTokens)
}

describe('the speed of a reply', () => {
  test('the speed of a reply counts the tokens after the first by the time after the first', () => {
    expect(described([500, 1000, 2500], 41)).toBe('41 tokens, 20.0 tokens/s, the first after 0.50 s')
  })

  test('the speed of a reply has no rate when one token, or one part, is all there is', () => {
    expect(described([250], 1)).toBe('1 token, the first after 0.25 s')
    expect(described([250], 9)).toBe('9 tokens, the first after 0.25 s')
  })

  test('the speed of a reply is not shown for a reply that is empty or was not counted', () => {
    expect(described([], 0)).toBeUndefined()
    expect(described([100, 200], undefined)).toBeUndefined()
  })
})
