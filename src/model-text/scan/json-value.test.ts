import { describe, expect, test } from 'vitest'
import { coerceBare } from './coerce-bare.ts'
import { jsonReader, readValue } from './json-value.ts'
import type { Declared } from './schema-types.ts'
import { collectText, completeFeed, readNow } from './text-feed.ts'

function read(text: string, { strict = false, schema }: { strict?: boolean; schema?: unknown } = {}) {
  const json = collectText()
  const feed = completeFeed(text)
  const declared: Declared = schema === undefined ? undefined : { schema, root: schema }
  const isComplete = readNow(readValue(jsonReader(feed, { out: json.out, strict }), declared))
  return { json: json.text, isComplete, rest: feed.text.slice(feed.at) }
}

describe('a value', () => {
  test.each([
    ['{"a": [1, -2.5e3, true, null, "x\\u00e9\\n"]}', '{"a": [1, -2.5e3, true, null, "x\\u00e9\\n"]}'],
    ['{"a":1}', '{"a":1}'],
    ["{'a': 'b \"c\"', 'd': True}", '{"a": "b \\"c\\"", "d": true}'],
    ['{a: 1, "b" : (1, 2)}', '{"a": 1, "b" : [1, 2]}'],
    ['[1, 2, ]', '[1, 2 ]'],
    ['{,}', '{}'],
    ['{"a": [1, {"b": 2]}', '{"a": [1, {"b": 2}]}'],
    ['{"a": "\\d+ \\\' \\x41"}', '{"a": "\\\\d+ \' \\u0041"}'],
    ['{"a": 1\n"b": ["2" "3"]}', '{"a": 1\n,"b": ["2" ,"3"]}'],
    ['"tab\there"', '"tab\\there"'],
    ['{{"a": 1}}', '{"a": 1}'],
    ['{{"a": {"b": 2}}', '{"a": {"b": 2}}'],
  ])('%j is read as %s', (text, json) => {
    expect(read(text)).toEqual({ json, isComplete: true, rest: '' })
    expect(() => JSON.parse(json)).not.toThrow()
  })

  test('text after it is not consumed', () => {
    expect(read('{"a": 1} and more')).toMatchObject({ isComplete: true, rest: ' and more' })
  })

  test.each(['{"a": [1', '{"a', '"abc', '[1,'])('%j is not complete', (text) => {
    expect(read(text).isComplete).toBe(false)
  })

  test.each(['{"a": , "b": 1}', '{"a" "b": 1}', '{two words: 1}', '{"a": nope}', '{"a": "b"c"}', 'nope'])(
    '%j has no certain meaning',
    (text) => {
      expect(read(text).isComplete).toBe(false)
    },
  )

  test.each(['nope', '{"a": nope}', '[1 2]', '{"a" 1}', '[1}', '01', ''])('%j is not a value if strict', (text) => {
    expect(read(text, { strict: true }).isComplete).toBe(false)
  })

  test.each([
    [false, 1],
    [true, 0],
  ])('a trailing comma is a repair in JSON only: Python is %s', (python, repairs) => {
    let count = 0
    const json = collectText()
    const repaired = () => {
      count += 1
    }
    expect(
      readNow(readValue(jsonReader(completeFeed('[1, 2,]'), { out: json.out, strict: false, python, repaired }), undefined)),
    ).toBe(true)
    expect({ json: json.text, count }).toEqual({ json: '[1, 2]', count: repairs })
  })

  test('endless brackets do not throw', () => {
    expect(() => read('['.repeat(100_000))).not.toThrow()
    expect(() => read('{"a":'.repeat(100_000))).not.toThrow()
  })
})

describe('a declared type', () => {
  const recursive = {
    $defs: { node: { type: 'object', properties: { n: { type: 'integer' }, next: { $ref: '#/$defs/node' } } } },
    $ref: '#/$defs/node',
  }

  test.each([
    [{ type: 'integer' }, '"5"', '5'],
    [{ type: 'integer' }, '"five"', '"five"'],
    [{ type: 'string' }, '5', '"5"'],
    [{ type: 'string' }, 'true', '"true"'],
    [{ type: 'string' }, '{"a": 1}', '"{\\"a\\": 1}"'],
    [{ type: ['string', 'null'] }, 'null', 'null'],
    [{ type: 'boolean' }, '"True"', 'true'],
    [{ type: 'array' }, '"[1, 2]"', '[1, 2]'],
    [{ type: 'object' }, '"{\'a\': 1}"', '{"a": 1}'],
    [{ enum: [1, 2] }, '"2"', '2'],
    [{ anyOf: [{ type: 'number' }, { type: 'string' }] }, '"007"', '"007"'],
    [{ allOf: [{ description: 'x' }, { type: 'integer' }] }, '"5"', '5'],
    [{}, '"5"', '"5"'],
    [recursive, '{"n": "1", "next": {"next": {"n": "2"}}}', '{"n": 1, "next": {"next": {"n": 2}}}'],
    [{ $ref: '#/nowhere' }, '"5"', '"5"'],
  ])('%j makes %s %s', (schema, text, json) => {
    expect(read(text, { schema }).json).toBe(json)
  })
})

describe('a value without quotes', () => {
  test.each([
    [{ type: 'string' }, 'null', '"null"'],
    [{ type: ['string', 'null'] }, 'null', 'null'],
    [{ type: 'string', nullable: true }, 'none', 'null'],
    [{ type: 'number' }, ' 1.50\n', '1.50'],
    [{ type: ['object', 'string'] }, '{not json', '"{not json"'],
    [{ type: 'array' }, "['a', None]", '["a", null]'],
    [{}, 'Infinity', '"Infinity"'],
    [{}, '01234', '"01234"'],
    [{}, '[1, {"a": true}]', '[1, {"a": true}]'],
    [undefined, '', '""'],
  ])('%j makes %j %s', (schema, text, json) => {
    expect(coerceBare(text, schema === undefined ? undefined : { schema, root: schema })).toBe(json)
  })
})
