import { describe, expect, test } from 'vitest'
import { parseJsonBody, parseLargeJsonBody } from './json-body.ts'

function parse(text: string): unknown {
  return parseJsonBody(Buffer.from(text)).value
}

describe('a JSON body', () => {
  test('any JSON value is read, with or without a byte order mark', () => {
    expect(parse('{"a": [1, "é😀"]}')).toEqual({ a: [1, 'é😀'] })
    expect(parse('null')).toBeNull()
    expect(parse('\uFEFF{"a": 1}')).toEqual({ a: 1 })
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

  test.each(['{"a": {"__proto__": {"x": 1}}}', '[{"\\u005f_proto__": 1}]', '{"__\\u0070roto__": 1}'])(
    '%s is refused and pollutes nothing',
    (text) => {
      expect(() => parse(text)).toThrow(/'__proto__'/)
      expect('x' in {}).toBe(false)
    },
  )

  test('a string with __proto__ is allowed', () => {
    expect(parse('{"content": "{\\"__proto__\\": 1}", "\\u005f": 1}')).toEqual({ content: '{"__proto__": 1}', _: 1 })
  })
})

describe('a large JSON body', () => {
  test('is read as a small one, whatever bytes its pieces are cut at', async () => {
    for (const shift of [0, 1, 2, 3]) {
      const value = { pad: 'x'.repeat(shift), text: '\u{1f600}中é'.repeat(200_000) }
      expect(await parseLargeJsonBody(Buffer.from(`\uFEFF${JSON.stringify(value)}`))).toEqual({ value })
    }
  })

  test('names the byte that is not UTF-8, wherever it is', async () => {
    const body = Buffer.from(JSON.stringify({ text: 'é'.repeat(1_000_000) }))
    body[1_500_000] = 0xff
    await expect(parseLargeJsonBody(body)).rejects.toThrow(/not UTF-8: byte 1(499999|500000) /)
  })

  test('that is not JSON is refused without looking for the position', async () => {
    const body = Buffer.from(`["${'\\n'.repeat(1_000_000)}", secret]`)
    await expect(parseLargeJsonBody(body)).rejects.toMatchObject({
      code: 'invalid-json',
      message: expect.stringMatching(/^the body is not valid JSON(: unexpected character at position \d+)?$/),
    })
  })
})
