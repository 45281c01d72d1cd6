import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StopSequences } from './stop-sequences.ts'

function run(stops: readonly string[], chunks: readonly string[]): { text: string; stop: string | undefined } {
  const parser = new StopSequences(stops)
  let text = ''
  for (const chunk of chunks) {
    const step = parser.push(chunk)
    text += step.text
    if (step.stopSequence !== undefined) return { text, stop: step.stopSequence }
  }
  return { text: text + parser.end(), stop: undefined }
}

describe('StopSequences', () => {
  test.each([
    { name: 'no stop sequences', stops: [], chunks: ['a', 'b'], text: 'ab', stop: undefined },
    { name: 'inside one chunk', stops: ['END'], chunks: ['fooENDbar'], text: 'foo', stop: 'END' },
    { name: 'across chunks', stops: ['END'], chunks: ['foE', 'N', 'Dx'], text: 'fo', stop: 'END' },
    { name: 'an almost-match is output', stops: ['END'], chunks: ['E', 'N', 'X'], text: 'ENX', stop: undefined },
    { name: 'an open match at the end is output', stops: ['END'], chunks: ['fooEN'], text: 'fooEN', stop: undefined },
    { name: 'overlapping attempts', stops: ['aab'], chunks: ['a', 'a', 'a', 'b'], text: 'a', stop: 'aab' },
    { name: 'the one completed first wins', stops: ['abcd', 'bc'], chunks: ['abcd'], text: 'a', stop: 'bc' },
    { name: 'of two completed together the longer wins', stops: ['c', 'abc'], chunks: ['abc'], text: '', stop: 'abc' },
    { name: 'at the very start', stops: ['x'], chunks: ['xyz'], text: '', stop: 'x' },
  ])('$name', ({ stops, chunks, text, stop }) => {
    expect(run(stops, chunks)).toEqual({ text, stop })
  })

  test('text that cannot become a stop sequence is not held back', () => {
    expect(new StopSequences(['END']).push('fooE')).toEqual({ text: 'foo' })
  })

  test('any split of the text gives the same result', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 30 })
    const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }), { maxLength: 3 })
    const cuts = fc.array(fc.nat({ max: 30 }), { maxLength: 10 })
    fc.assert(
      fc.property(letters, stops, cuts, (text, sequences, at) => {
        const points = [...new Set([0, ...at.filter((cut) => cut < text.length), text.length])].sort((x, y) => x - y)
        const chunks = points.slice(1).map((point, index) => text.slice(points[index], point))
        expect(run(sequences, chunks)).toEqual(run(sequences, [...text]))
      }),
    )
  })
})
