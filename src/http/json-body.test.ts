import { describe, expect, test } from 'vitest'
import { parseJsonBody } from './json-body.ts'

function parse(text: string): unknown {
  return parseJsonBody(Buffer.from(text))
}

describe('a JSON body', () => {
  test('any JSON value is read, with or without a byte order mark', () => {
    expect(parse('{"a": [1, "é😀"]}')).toEqual({ a: [1, 'é😀'] })
    expect(parse('null')).toBeNull()
    expect(parse('\uFEFF{"a": 1}')).toEqual({ a: 1 })
  })

  test('an empty body is refused', () => {
    expect(() => parse('')).toThrow(
      expect.objectContaining({ code: 'invalid-json', message: expect.stringContaining('no body') }),
    )
  })

  test.each([
    ['{"a": 1,\n "b": x}', 'position 15 (line 2, column 7)'],
    ['abc', 'position 0 (line 1, column 1)'],
    ['{"a": ', 'ends too early'],
  ])('%j is refused with the position', (text, where) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'invalid-json', message: expect.stringContaining(where) }))
  })

  test('the message never quotes the body', () => {
    expect(() => parse('{"a": secret}')).toThrow(expect.objectContaining({ message: expect.not.stringContaining('secret') }))
  })

  test.each([
    [[0x22, 0xff, 0x22], 1],
    [[0x22, 0xef, 0xbf, 0xbd, 0xc3, 0x22], 4],
    [[0x22, 0xed, 0xa0, 0x80, 0x22], 1],
    [[0x22, 0xe2, 0x82], 1],
  ])('bytes %j are not UTF-8, and the offset is %i', (bytes, offset) => {
    expect(() => parseJsonBody(Buffer.from(bytes))).toThrow(
      expect.objectContaining({ code: 'invalid-json', message: expect.stringContaining(`not UTF-8: byte ${offset} `) }),
    )
  })

  test('nesting is limited, counting only what is outside strings', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect(() => parse(nested(128))).not.toThrow()
    expect(() => parse(nested(129))).toThrow(/more than 128 levels deep at byte 128/)
    expect(parse(JSON.stringify(`"\\${'['.repeat(500)}`))).toContain('[[[')
    expect(() => parse(`["\\\\", "\\"", ${nested(128)}]`)).toThrow(/levels deep/)
    expect(() => parse('{"a":'.repeat(200_000))).toThrow(/levels deep/)
  })

  test.each(['{"a": {"__proto__": {"x": 1}}}', '[{"\\u005f_proto__": 1}]'])('%s is refused and pollutes nothing', (text) => {
    expect(() => parse(text)).toThrow(/'__proto__'/)
    expect('x' in {}).toBe(false)
  })

  test('a string with __proto__ is allowed', () => {
    expect(parse('{"content": "{\\"__proto__\\": 1}", "\\u005f": 1}')).toEqual({ content: '{"__proto__": 1}', _: 1 })
  })

  test('two megabytes of text take milliseconds', () => {
    const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'a "quoted" word\n'.repeat(130_000) }] }))
    const startedMs = performance.now()
    parseJsonBody(body)
    expect(performance.now() - startedMs).toBeLessThan(500)
  })
})
