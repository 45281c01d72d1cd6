import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TokenTally } from './token-tally.ts'

describe('TokenTally', () => {
  test('a token leaves with the text that it ends in', () => {
    const tally = new TokenTally<string>()
    tally.add('a', 3)
    expect(tally.send(2)).toEqual([])
    tally.add('b', 1)
    expect(tally.send(1)).toEqual(['a'])
    expect(tally.send(1)).toEqual(['b'])
  })

  test('half a character leaves with the text that it became', () => {
    const tally = new TokenTally<string>()
    tally.add('first half', 0)
    tally.add('second half', 1)
    expect(tally.send(1)).toEqual(['first half', 'second half'])
  })

  test('a token after a stop sequence is not output, but a token that began before it is', () => {
    const tally = new TokenTally<string>()
    tally.add('before', 2)
    tally.add('across', 4)
    tally.add('after', 1)
    expect(tally.send(3)).toEqual(['before'])
    expect(tally.cut()).toEqual(['across'])
  })

  test('half a character that nothing completes leaves at the end', () => {
    const tally = new TokenTally<string>()
    tally.add('a', 1)
    expect(tally.send(1)).toEqual(['a'])
    tally.add('half', 0)
    expect(tally.end()).toEqual(['half'])
    expect(tally.end()).toEqual([])
  })

  test('every token leaves once and in order, however the text is held back', () => {
    const steps = fc.array(fc.record({ length: fc.nat(4), held: fc.nat(6) }))
    fc.assert(
      fc.property(steps, (list) => {
        const tally = new TokenTally<number>()
        const left: number[] = []
        let written = 0
        let sent = 0
        for (const [index, { length, held }] of list.entries()) {
          tally.add(index, length)
          written += length
          const now = Math.max(0, written - held - sent)
          sent += now
          left.push(...tally.send(now))
        }
        left.push(...tally.end())
        expect(left).toEqual([...list.keys()])
      }),
    )
  })
})
