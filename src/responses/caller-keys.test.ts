import { expect, test } from 'vitest'
import type { CallerKeys } from '../contract/caller-keys.ts'
import type { DecodedResponse } from '../dialect/openai-responses/decode.ts'
import { withCallerKeys } from './caller-keys.ts'

const keys = { openai: 'sk-1' } as unknown as CallerKeys
const sent = { keys, place: 'x-keys', ignored: ['x-keys.other'] }

/** A conversation of some turns. */
function decodedOf(turns: number): DecodedResponse {
  return {
    request: { turns },
    ignored: ['flavour'],
    nameOf: () => 'input',
    withoutOldest: (count: number) => (count < turns ? { decoded: decodedOf(turns - count), dropped: count } : undefined),
    compacted: () => (turns > 1 ? decodedOf(1) : undefined),
  } as unknown as DecodedResponse
}

const seen = (decoded: DecodedResponse | undefined) =>
  decoded && { request: decoded.request, ignored: decoded.ignored, name: decoded.nameOf(['callerKeys']) }
const withKeys = (turns: number) => ({
  request: { turns, callerKeys: keys },
  ignored: ['flavour', 'x-keys.other'],
  name: 'x-keys',
})

test("a call has its caller's keys, however its conversation is shortened", () => {
  const decoded = withCallerKeys(decodedOf(3), sent)
  expect(seen(decoded)).toEqual(withKeys(3))
  expect(seen(decoded.withoutOldest(1)?.decoded)).toEqual(withKeys(2))
  expect(seen(decoded.compacted({} as never))).toEqual(withKeys(1))
  expect(seen(decoded.withoutOldest(1)?.decoded.compacted({} as never))).toEqual(withKeys(1))
})

test('a conversation that cannot be shortened is not', () => {
  const decoded = withCallerKeys(decodedOf(1), sent)
  expect([decoded.withoutOldest(1), decoded.compacted({} as never)]).toEqual([undefined, undefined])
})

test('without keys, a call stays as it is', () => {
  const decoded = decodedOf(1)
  expect(withCallerKeys(decoded, undefined)).toBe(decoded)
  expect(withCallerKeys(decoded, { place: 'x-keys', ignored: [] }).request).toEqual({ turns: 1 })
})
