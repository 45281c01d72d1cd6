import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CallArguments } from './call-arguments.ts'

const tool = {
  name: 'f',
  parameters: { type: 'object', properties: { text: { type: 'string' }, count: { type: 'integer' } } },
}

function read(pieces: readonly string[], truncated = false): string {
  const reader = new CallArguments(tool)
  return pieces.map((piece) => reader.push(piece)).join('') + reader.end(truncated)
}

describe('arguments that somebody else told from text', () => {
  test('leave as they come, where they are JSON', () => {
    const reader = new CallArguments(tool)
    expect(reader.push('{"text": "a')).toBe('{"text": "a')
    expect(reader.isComplete).toBe(false)
    reader.push('b"}')
    expect(reader.isComplete).toBe(true)
  })

  test('are an empty object where there are none', () => {
    expect(read([])).toBe('{}')
    expect(read([' ', ''])).toBe('{}')
    expect(read(['null'])).toBe('{}')
  })

  test('are the only parameter, where they are a text and there is just one', () => {
    const reader = new CallArguments({
      name: 'g',
      parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    })
    expect(reader.push('weather in Oslo')).toBe('')
    expect(JSON.parse(reader.end(false))).toEqual({ q: 'weather in Oslo' })
  })

  test('stay open where a limit cut them off', () => {
    expect(read(['{"text": "a'], true)).toBe('{"text": "a')
  })

  test('are the same wherever they were cut', () => {
    const value = fc.record({ text: fc.string(), count: fc.integer() }, { requiredKeys: [] })
    fc.assert(
      fc.property(value, fc.array(fc.nat({ max: 60 }), { maxLength: 8 }), (object, cuts) => {
        const json = JSON.stringify(object)
        const places = [0, ...cuts.map((cut) => Math.min(cut, json.length)).sort((a, b) => a - b), json.length]
        const pieces = places.slice(1).map((place, index) => json.slice(places[index], place))
        expect(JSON.parse(read(pieces))).toEqual(object)
      }),
    )
  })
})
