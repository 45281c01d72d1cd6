import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HeldMemory, type JsonBounds, JsonReader } from './json-reader.ts'

const bounds: JsonBounds = { maxLength: 1 << 20, maxUnits: 10_000 }

/** What is read of a text that arrives in pieces of this length. */
function read(text: string, size = text.length, more: Partial<JsonBounds> = {}): unknown {
  const reader = new JsonReader({ ...bounds, ...more })
  try {
    for (let at = 0; at < text.length; at += size) reader.push(text.slice(at, at + size))
    return reader.end()
  } finally {
    reader.release()
  }
}

describe('JsonReader', () => {
  test('JsonReader reads what JSON.parse reads, however the text is split', () => {
    // The prototype's name is left out on purpose.
    const json = fc.json({ stringUnit: 'binary', maxDepth: 6 }).filter((text) => !text.includes('__proto__'))
    fc.assert(
      fc.property(json, fc.integer({ min: 1, max: 9 }), (text, size) => {
        expect(read(text, size)).toEqual(JSON.parse(text))
      }),
      { numRuns: 40 },
    )
  })

  test.each(['"\\u00e9\\ud83d\\ude00"', '"a\\\\"', '"\\\\\\""', '[1.5e-3,-0,true,false,null]', ' {"a" : [ ] , "b":{}} ', '""'])(
    'JsonReader reads %s in pieces of every length',
    (text) => {
      for (let size = 1; size <= text.length; size++) expect(read(text, size)).toEqual(JSON.parse(text))
    },
  )

  test.each([
    '',
    '{',
    '[1',
    '[1,]',
    '{"a"}',
    '{"a":}',
    '{,}',
    '[}',
    '{]',
    '1 2',
    '"a',
    '"\\x"',
    'nul',
    '[01x]',
    '{"a":1,}',
    ']',
    '{"a" 1}',
    '[1:2]',
  ])('JsonReader refuses %j', (text) => expect(() => read(text, 1)).toThrow('not JSON'))

  test('JsonReader does not set a prototype', () => {
    const value = read('{"__proto__":{"isAdmin":true},"a":1}') as { isAdmin?: unknown }
    expect(value.isAdmin).toBeUndefined()
    expect(value).toEqual({ a: 1 })
  })

  test.each<[string, string, Partial<JsonBounds>]>([
    ['length', `"${'x'.repeat(2000)}"`, { maxLength: 1000 }],
    ['values', `[${'{},'.repeat(2000)}{}]`, {}],
    ['depth', '['.repeat(101), {}],
    ['texts that are kept', `"${'x'.repeat(17 << 20)}"`, { maxLength: 1 << 30 }],
  ])('JsonReader has a bound on %s', (_, text, more) => {
    expect(() => read(text, 65_536, more)).toThrow(expect.objectContaining({ failure: { type: 'excess' } }))
  })
})

const half = 512 * 1024 * 1024

test('large replies share one bound, and what is released can be held again', () => {
  const [first, second] = [new HeldMemory(), new HeldMemory()]
  first.hold(half)
  second.hold(half)
  // What is held in all, not added.
  second.hold(half)
  expect(() => first.hold(half + 1)).toThrow(expect.objectContaining({ failure: { type: 'excess' } }))
  second.release()
  second.release()
  first.hold(2 * half)
  first.release()
})
