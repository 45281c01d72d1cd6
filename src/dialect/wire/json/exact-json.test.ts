import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compactJson, losesDigits, objectTexts, RawJson } from './exact-json.ts'

describe('a number that JSON.parse would change is found', () => {
  test.each([
    '{"a":9007199254740993}',
    '[-12345678901234567890]',
    '{"a":0.12345678901234567890}',
    '{"a":1e400}',
    '{"a": -1.5E-400123, "b": 1e-99999999999999999}',
    '9007199254740993',
  ])('%s', (text) => {
    expect(losesDigits(text)).toBe(true)
  })

  test.each([
    '{"a":9007199254740992}',
    '{"a":1.0,"b":[1e21,0.1]}',
    '{"a":"12345678901234567890"}',
    String.raw`{"a":"\\\"12345678901234567890"}`,
    '{"12345678901234567890":1}',
  ])('not in %s', (text) => {
    expect(losesDigits(text)).toBe(false)
  })

  test('any whole number that a double does not hold', () => {
    fc.assert(
      fc.property(fc.bigInt(), (whole) => {
        const isHeld = BigInt(Number(whole)) === whole
        if (!isHeld) expect(losesDigits(`[${whole}]`)).toBe(true)
      }),
    )
  })
})

test('compact JSON has no white space outside of its texts', () => {
  expect(compactJson('{ "a b" :\n [ 1 , "\\" x " ] }')).toBe('{"a b":[1,"\\" x "]}')
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(compactJson(JSON.stringify(value, undefined, 2))).toBe(JSON.stringify(value))
    }),
  )
})

describe('the texts of objects', () => {
  test('are those at the wanted paths, as they were sent', () => {
    const text = '{"m": [{"x": {"a": 1}}, {"in": "{", "x": { "b": [{}, 2], "\\u0078": {} }}], "x": {}}'
    const texts = objectTexts(text, (path) => path[0] === 'm' && path.length === 3 && path[2] === 'x')
    expect([...texts]).toEqual([
      ['m[0].x', '{"a": 1}'],
      ['m[1].x', '{ "b": [{}, 2], "\\u0078": {} }'],
    ])
  })

  test('of every object of any JSON are those that JSON.parse reads there', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
        const paths: (readonly (string | number)[])[] = []
        const whole = JSON.stringify(value, undefined, indent)
        const texts = objectTexts(whole, (path) => paths.push([...path]) > 0)
        // Duplicate names of paths are rare, and not asked for here.
        fc.pre(texts.size === paths.length)
        // Not `value` itself: as JSON, its -0 is 0.
        const root: unknown = JSON.parse(whole)
        const read = paths.map((path) => path.reduce((parent, step) => Reflect.get(Object(parent), step), root))
        expect([...texts.values()].map((text) => JSON.parse(text)).sort(byJson)).toEqual(read.sort(byJson))
      }),
      { examples: [[{ a: [-0] }, 0]] },
    )
  })
})

test('raw JSON is its nearest value for other writers', () => {
  expect(JSON.stringify({ a: new RawJson('{"b":1e2}') })).toBe('{"a":{"b":100}}')
})

function byJson(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
}
