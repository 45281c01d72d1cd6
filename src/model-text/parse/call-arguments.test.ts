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

describe('arguments that another server has parsed', () => {
  test('are returned as they come if they are JSON', () => {
    const reader = new CallArguments(tool)
    expect(reader.push('{"text": "a')).toBe('{"text": "a')
    expect(reader.isComplete).toBe(false)
    reader.push('b"}')
    expect(reader.isComplete).toBe(true)
  })

  test('are an empty object if they are empty', () => {
    expect(read([])).toBe('{}')
    expect(read([' ', ''])).toBe('{}')
    expect(read(['null'])).toBe('{}')
  })

  test('are the value of the only parameter if they are a text', () => {
    const reader = new CallArguments({
      name: 'g',
      parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    })
    expect(reader.push('weather in Oslo')).toBe('')
    expect(JSON.parse(reader.end(false))).toEqual({ q: 'weather in Oslo' })
  })

  test('stay open where a limit truncated them', () => {
    expect(read(['{"text": "a'], true)).toBe('{"text": "a')
  })

  test('are the same for every split', () => {
    const value = fc.record({ text: fc.string(), count: fc.integer() }, { requiredKeys: [] })
    fc.assert(
      fc.property(value, fc.array(fc.nat({ max: 60 }), { maxLength: 8 }), (object, cuts) => {
        const json = JSON.stringify(object)
        const points = [0, ...cuts.map((cut) => Math.min(cut, json.length)).sort((a, b) => a - b), json.length]
        const pieces = points.slice(1).map((point, index) => json.slice(points[index], point))
        expect(JSON.parse(read(pieces))).toEqual(object)
      }),
    )
  })
})
