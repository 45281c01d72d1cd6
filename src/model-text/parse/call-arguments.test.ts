import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CallArguments } from './call-arguments.ts'

const tool = {
  name: 'f',
  parameters: { type: 'object', properties: { text: { type: 'string' }, count: { type: 'integer' } } },
}

function readAll(pieces: readonly string[], truncated = false) {
  const reader = new CallArguments(tool)
  const pushed = pieces.map((piece) => reader.push(piece)).join('')
  const { delta, outcome } = reader.end(truncated)
  return { input: pushed + delta, ...outcome }
}

function read(pieces: readonly string[], truncated = false): string {
  return readAll(pieces, truncated).input
}

describe('arguments that another server has parsed', () => {
  test('are returned as they come if they are JSON', () => {
    const reader = new CallArguments(tool)
    expect(reader.push('{"text": "a')).toBe('{"text": "a')
    expect(reader.isComplete).toBe(false)
    reader.push('b"}')
    expect(reader.isComplete).toBe(true)
  })

  test.each(['{}', ' { } ', '{}{}', '{}\n{}\n', 'null', ' null ', 'nullnull', 'null{}'])(
    'are what follows an empty object, or null, that opens them: %j',
    (opening) => {
      const real = '{"text": "a {} b", "count": 2}'
      expect(readAll([opening + real])).toEqual({ input: real })
      fc.assert(
        fc.property(fc.array(fc.nat(opening.length + real.length)), (cuts) => {
          const all = opening + real
          const places = [0, ...cuts.toSorted((a, b) => a - b), all.length]
          expect(readAll(places.slice(1).map((end, index) => all.slice(places[index], end)))).toEqual({ input: real })
        }),
      )
    },
  )

  test('are an empty object if nothing follows it, and a truncated one stays as it is', () => {
    const reader = new CallArguments(tool)
    expect(reader.push('{}')).toBe('')
    expect(reader.isComplete).toBe(true)
    expect(read(['{', '}', '\n'])).toBe('{}')
    expect(read(['{'])).toBe('{}')
    expect(read(['{'], true)).toBe('{')
    expect(read(['{}', '{"te'], true)).toBe('{"te')
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
    expect(reader.end(false)).toEqual({
      delta: '{"q":"weather in Oslo"}',
      outcome: { state: 'repaired', raw: 'weather in Oslo' },
    })
  })

  test('stay open where a limit truncated them', () => {
    expect(read(['{"text": "a'], true)).toBe('{"text": "a')
  })

  test.each([
    { raw: '{"count": 12345678901234567890, "x": 1.10}' },
    { raw: '{"text": "a", }', input: '{"text": "a" }', state: 'repaired' },
    { raw: "{'text': 'a'}", input: '{"text": "a"}', state: 'repaired' },
    { raw: '{"count": "5"}', input: '{"count": 5}', state: 'repaired' },
    { raw: '{"x": True}', input: '{"x": true}', state: 'repaired' },
    { raw: '{"count": 5', input: '{"count": 5}', state: 'repaired' },
    { raw: '{"count": 5} and more', input: '{"count": 5}', state: 'repaired' },
    { raw: '"{\\"count\\": 5}"', input: '{"count": 5}', state: 'repaired' },
    { raw: 'not json at all', state: 'unparseable' },
    { raw: '{oops', state: 'unparseable' },
    { raw: '{oops}', state: 'unparseable' },
    { raw: '[1,2]', state: 'unparseable' },
    { raw: '"words"', state: 'unparseable' },
    { raw: '{"text": "lon', state: 'unparseable' },
    { raw: '{"x": tru', state: 'unparseable' },
    { raw: '{"text" "b": 1}', state: 'unparseable' },
    { raw: '{"text": , "b": 1}', state: 'unparseable' },
    { raw: '{"text": "say "hi" now", "count": 1}', state: 'unparseable' },
    { raw: "{'text': 'a', b}", input: '{"text": "a", b}', state: 'unparseable' },
  ])('$raw is $state', ({ raw, input = raw, state }) => {
    const wanted = { input, ...(state !== undefined && { state }), ...(input !== raw && { raw }) }
    for (const pieces of [[raw], [...raw]]) expect(readAll(pieces)).toEqual(wanted)
  })

  test('are what came where a limit truncated them', () => {
    for (const raw of ['{"text": "lon', '{"x": tru', '{"count": 1', '{"text', '"{']) {
      for (const pieces of [[raw], [...raw]]) expect(readAll(pieces, true)).toEqual({ input: raw })
    }
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
