import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { codePoint } from '../../../test/support/code-point.ts'
import { cutAt } from '../../../test/support/parse-output.ts'
import { InputDecoder } from './input-decoder.ts'

/** The text of the pieces, each delta, and how they were read. */
function decode(pieces: readonly string[]) {
  const decoder = new InputDecoder()
  const deltas = pieces.map((piece) => decoder.push(piece))
  const { delta, ...outcome } = decoder.end()
  return { text: deltas.join('') + delta, deltas, outcome }
}

describe('the input of a custom call', () => {
  test.each([
    ['{"input":"a b"}', 'a b'],
    ['{"input": ""}', ''],
    [' {\n "input" :\t"line\\none" } \n', 'line\none'],
    ['{"input":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041"}', '"\\/\b\f\n\r\tA'],
    ['{"input":"\\ud83d\\ude00 😀"}', '😀 😀'],
    ['{"input":"\\ud83d!"}', '\ud83d!'],
    ['{"\\u0069nput":"a"}', 'a'],
  ])('the input of a custom call is the string of %s', (json, text) => {
    expect(decode([json])).toMatchObject({ text, outcome: {} })
  })

  test('the input of a custom call comes as soon as it is certain', () => {
    const pieces = ['{"inp', 'ut": ', '"ab', 'c\\', 'n', 'd\\u00', 'e9\\ud83d', '\\ude', '00', 'e"', '}']
    expect(decode(pieces).deltas).toEqual(['', '', 'ab', 'c', '\n', 'd', 'é', '', '😀', 'e', ''])
  })

  test('the input of a custom call is the same for all pieces that its JSON comes in, and is never taken back', () => {
    const json = fc
      .tuple(fc.string({ unit: codePoint }), fc.func(fc.boolean()))
      .map(([text, escapes]) => `{"input": ${escapeSome(text, escapes)}}`)
    fc.assert(
      fc.property(json, fc.array(fc.nat(200)), (whole, cuts) => {
        const { text, outcome } = decode(cutAt(whole, cuts))
        expect({ input: text }).toEqual(JSON.parse(whole))
        expect(outcome).toEqual({})
      }),
    )
  })

  test.each([
    ['without the closing brace', '{"input": "a"', 'a'],
    ['beside other members', '{"input": "a", "lines": 2}', 'a'],
    ['behind other members', '{"lines": 2, "input": "a"}', 'a'],
    ['that occurs twice', '{"input": "a", "input": "b"}', 'a'],
    ['with line breaks and escapes that JSON lacks', '{"input": "a\nb\\d \\u12 \\\'"}', "a\nb\\d \\u12 '"],
    ['under another name', '{"patch": "a"}', 'a'],
    ['without the object', '"a\\n"', 'a\n'],
    ['without JSON', ' *** a "b"', ' *** a "b"'],
    ['that is a list', '[1, 2]', '[1, 2]'],
    ['that is not a string', '{"input": {"a": [1]}}', '{"a":[1]}'],
    ['that is missing', '{}', ''],
  ])('the input of a custom call is repaired %s', (_, json, text) => {
    const raw = json === text ? {} : { raw: json }
    expect(decode([json])).toMatchObject({ text, outcome: { state: 'repaired', ...raw } })
    expect(decode([...json])).toMatchObject({ text, outcome: { state: 'repaired', ...raw } })
  })

  test('the input of a custom call is empty where there are no arguments', () => {
    expect(decode([])).toEqual({ text: '', deltas: [], outcome: { state: 'repaired' } })
  })

  test.each([
    ['of truncated arguments', '{"input": "a\\n', 'a\n'],
    ['truncated inside an escape', '{"input": "a\\ud83d\\ude', 'a'],
    ['truncated before its string', '{"inp', ''],
    ['with text behind it', '{"input": "a" and "b"}', 'a'],
    ['among others', '{"old": "a", "new": "b"}', '{"old": "a", "new": "b"}'],
    ['that is broken', '{"code": a', '{"code": a'],
  ])('the input of a custom call cannot be read %s, and is what there is', (_, json, text) => {
    const raw = json === text ? {} : { raw: json }
    expect(decode([json])).toMatchObject({ text, outcome: { state: 'unparseable', ...raw } })
    expect(decode([...json])).toMatchObject({ text, outcome: { state: 'unparseable', ...raw } })
  })

  test('the input of a custom call is never taken back for any arguments in any pieces', () => {
    const token = fc.constantFrom(
      ...['{', '}', '"', '"input"', ':', '\\', '\\u', '\\ud83d', '\\ude00', 'a', ' ', '\n', ',', '😀'],
    )
    fc.assert(
      fc.property(fc.array(token), fc.array(fc.nat(60)), (tokens, cuts) => {
        const whole = tokens.join('')
        const { text, outcome } = decode(cutAt(whole, cuts))
        expect({ text, outcome }).toEqual({ text: decode([whole]).text, outcome: decode([whole]).outcome })
      }),
    )
  })
})

/** JSON of a text, with some of its code units as escapes. */
function escapeSome(text: string, escapes: (unit: string, index: number) => boolean): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charAt(index))
  const isSurrogate = (unit: string) => /[\ud800-\udfff]/.test(unit)
  const written = units.map((unit, index) =>
    escapes(unit, index) || isSurrogate(unit)
      ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
      : JSON.stringify(unit).slice(1, -1),
  )
  return `"${written.join('')}"`
}
