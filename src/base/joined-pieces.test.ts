import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JoinedPieces } from './joined-pieces.ts'

test('the whole is what came, however it was cut, and the watcher saw all of it in order', () => {
  const size = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 1000, max: 1050 }), fc.constant(20_000))
  fc.assert(
    fc.property(fc.array(size, { maxLength: 60 }), (sizes) => {
      const seen: Buffer[] = []
      const joined = new JoinedPieces((piece) => seen.push(Buffer.from(piece)))
      const sent = sizes.map((length, index) => Buffer.alloc(length, index))
      for (const piece of sent) joined.push(piece)
      const whole = joined.end()
      expect(whole.equals(Buffer.concat(sent))).toBe(true)
      expect(Buffer.concat(seen).equals(whole)).toBe(true)
    }),
  )
})

test('a body of one piece is not copied', () => {
  const piece = Buffer.from('{}')
  const joined = new JoinedPieces()
  joined.push(piece)
  expect(joined.end()).toBe(piece)
})

test('a million bytes that come one by one are kept in few pieces', () => {
  let pieces = 0
  const joined = new JoinedPieces(() => {
    pieces += 1
  })
  for (let index = 0; index < 1_000_000; index++) joined.push(Buffer.of(index))
  expect(joined.end()).toHaveLength(1_000_000)
  expect(pieces).toBeLessThan(100)
})
