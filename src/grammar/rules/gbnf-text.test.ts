import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { createRandom } from '../../../test/support/random.ts'
import { createGrammarBuilder, type SchemaOptions } from '../grammar-builder.ts'
import { gbnfKeyword } from './gbnf-text.ts'

const lines = 'root ::= line+\nline ::= [+-] [^\\n]* "\\n"\n'

function compile(schema: object, options: SchemaOptions = {}) {
  const builder = createGrammarBuilder()
  return builder.build(builder.addSchema(schema, options))
}

describe(`a string with the keyword ${gbnfKeyword}`, () => {
  const schema = { type: 'string', [gbnfKeyword]: lines }

  test('is JSON of the texts of the grammar, each character in one spelling', () => {
    const { grammar, enforcement } = compile(schema, { strict: true })
    const { matches } = createMatcher(grammar)
    expect(enforcement).toBe('full')
    for (const text of ['+\n', '-a "b" \\\n+é😀\t\n', '+\u0001\n']) expect(matches(JSON.stringify(text))).toBe(true)
    for (const text of ['', '+', 'a\n', '+a\nb\n']) expect(matches(JSON.stringify(text))).toBe(false)
    expect(matches('"\\u002b\\n"')).toBe(false)
  })

  test('is never anything else', () => {
    const matcher = createMatcher(lines)
    const { generate } = createMatcher(compile(schema).grammar)
    const random = createRandom(7)
    for (let count = 0; count < 100; count++) {
      const json = generate(random, 40)
      expect(matcher.matches(JSON.parse(json))).toBe(true)
    }
  })

  test('may be a member beside others', () => {
    const { grammar } = compile({
      type: 'object',
      properties: { a: schema, b: schema, c: { type: 'null' } },
      required: ['a', 'b'],
    })
    const { matches } = createMatcher(grammar)
    expect(matches('{"a":"+\\n","b":"-\\n"}')).toBe(true)
    expect(matches('{"a":"+\\n","b":"b"}')).toBe(false)
  })

  test('is raw text where strings are written so', () => {
    const { matches } = createMatcher(compile(schema, { strict: true, rawUntil: '</p>' }).grammar)
    expect(matches('+a "b"\n')).toBe(true)
    expect(matches('+a')).toBe(false)
  })

  test('implies a string', () => {
    const { matches } = createMatcher(compile({ [gbnfKeyword]: lines }).grammar)
    expect(matches('"+\\n"')).toBe(true)
    expect(matches('1')).toBe(false)
  })

  test.each([{ pattern: 'a' }, { minLength: 3 }, { maxLength: 3 }, { format: 'date' }])(
    'is not enforced beside %j, and the gap is reported',
    (others) => {
      const unenforced = [{ keyword: gbnfKeyword, path: '#' }]
      expect(compile({ ...schema, ...others })).toMatchObject({ enforcement: 'partial', unenforced })
    },
  )

  test.each([['root ::= nothing'], [5]])('has to be a grammar: %j', (value) => {
    expect(() => compile({ [gbnfKeyword]: value }, { param: 'parameters' })).toThrow(
      expect.objectContaining({ kind: expect.stringMatching(/^invalid-/), param: expect.stringMatching(/^parameters/) }),
    )
  })

  test('has no listed value that is certain to be one of its texts', () => {
    expect(() => compile({ enum: ['+\n'], [gbnfKeyword]: lines })).toThrow('allows no value')
  })
})
