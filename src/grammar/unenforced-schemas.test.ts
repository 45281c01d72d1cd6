import { describe, expect, test } from 'vitest'
import { compileJsonSchema, object, texts } from '../../test/support/llama/compile-json-schema.ts'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { checkGbnf } from './rules/check-gbnf.ts'
import { GrammarError, type GrammarErrorKind } from './rules/grammar-error.ts'

function refusal(schema: unknown, options: { strict?: boolean; param?: string } = {}): GrammarError {
  try {
    compileJsonSchema(schema, options)
  } catch (error) {
    if (error instanceof GrammarError) return error
    throw error
  }
  throw new Error('it was accepted')
}

const times = <T>(count: number, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, make(index)]))

describe('what cannot be enforced', () => {
  test.each<[unknown, string, string]>([
    [object({ tags: { type: 'array', items: texts, uniqueItems: true } }), 'uniqueItems', '#/properties/tags'],
    [{ type: 'number', multipleOf: 0.1 }, 'multipleOf', '#'],
    [{ type: 'string', pattern: '(a)\\1' }, 'pattern', '#'],
    [{ type: 'string', format: 'color' }, 'format', '#'],
    [{ type: 'string', not: { minLength: 3 } }, 'not', '#'],
    [JSON.parse('{"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}}'), 'then', '#'],
    [{ oneOf: [{ type: 'number' }, { type: 'integer' }] }, 'oneOf', '#'],
  ])('%j: listed, and refused when the schema is strict', (schema, keyword, path) => {
    const compiled = compileJsonSchema(schema)
    expect(compiled.enforcement).toBe('partial')
    expect(compiled.unenforced).toContainEqual({ keyword, path })
    const error = refusal(schema, { strict: true, param: 'response_format.json_schema.schema' })
    expect(error.kind).toBe('unsupported-schema')
    expect(error.message).toContain(`'${keyword}' at ${path}`)
    expect(error.param).toMatch(new RegExp(`^response_format\\.json_schema\\.schema.*\\.${keyword}$`))
  })

  test('a keyword for kinds that are not written is not a gap', () => {
    expect(compileJsonSchema({ type: 'string', uniqueItems: true }).enforcement).toBe('full')
    expect(compileJsonSchema({ enum: ['a', 'b'], not: { const: 'a' } })).toMatchObject({ enforcement: 'full' })
  })
})

describe('what is refused', () => {
  const doubled = (levels: number): object => {
    const twice = (index: number): object => ({ allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${index + 1}` })) })
    const names = Array.from({ length: levels }, (_, index) => [
      `d${index}`,
      index < levels - 1 ? twice(index) : object({ a: texts }),
    ])
    return { $ref: '#/$defs/d0', $defs: Object.fromEntries(names) }
  }
  const deep = (levels: number): object => (levels === 0 ? texts : { type: 'array', items: deep(levels - 1) })
  test.each<[string, unknown, GrammarErrorKind, RegExp]>([
    ['no schema', 3, 'invalid-schema', /must be a schema/],
    ['a schema that allows nothing', false, 'invalid-schema', /allows no value/],
    ['a value that never ends', object({ next: { $ref: '#' } }, { required: ['next'] }), 'invalid-schema', /allows no value/],
    ['a schema that is itself', { allOf: [{ $ref: '#' }] }, 'invalid-schema', /'\$ref' at #\/allOf\/0 leads back to itself/],
    [
      'two schemas that are each other',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [texts, { $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' },
      'invalid-schema',
      /leads back to itself/,
    ],
    ['a reference to nowhere', { $ref: '#/$defs/none' }, 'unsupported-schema', /refers to '#\/\$defs\/none'/],
    ['a reference outside', { $ref: 'https://example.com/schema' }, 'unsupported-schema', /not in this schema/],
    ['an unknown type', object({ a: { type: 'text' } }), 'invalid-schema', /'type' at #\/properties\/a must be/],
    ['a malformed keyword', { minLength: '3' }, 'invalid-schema', /'minLength' at # must be a number/],
    ['no pattern', { type: 'string', pattern: '(' }, 'invalid-regex', /not an ECMAScript regular expression/],
    ['too many levels', deep(300), 'schema-too-large', /deeper/],
    [
      'too many alternatives',
      { allOf: Array.from({ length: 12 }, () => ({ anyOf: [{ minLength: 1 }, { maxLength: 5 }] })) },
      'grammar-too-large',
      /combinations/,
    ],
    [
      'too many members',
      object(Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`p${index}`, texts]))),
      'grammar-too-large',
      /members/,
    ],
    [
      'a list that is too long to write',
      { enum: Array.from({ length: 15_000 }, (_, index) => `${index} `.repeat(25)) },
      'grammar-too-large',
      /characters/,
    ],
    ['schemas that double', doubled(40), 'grammar-too-large', /too much work/],
    ['a huge repetition', { type: 'string', minLength: 10_000_000 }, 'grammar-too-large', /repetition/],
  ])('the compiler refuses %s', (_, schema, kind, message) => {
    const error = refusal(schema, { param: 'schema' })
    expect(error.kind).toBe(kind)
    expect(error.message).toMatch(message)
    expect(error.param).toMatch(/^schema/)
  })

  test.each<[string, object]>([
    [
      'patterns that become too large',
      object(times(40, (index) => ({ type: 'string', pattern: `a{1,1000}b{1,1000}c{1,${1000 + index}}` }))),
    ],
    ['a pattern of very many ways', { type: 'string', pattern: '(x?){900}y' }],
    ['a pattern of very many ways to a length', { type: 'string', pattern: `^${'[ab]*'.repeat(200)}$`, maxLength: 2000 }],
    [
      'alternatives that must exclude each other',
      { oneOf: Object.values(times(250, (index) => ({ type: 'string', minLength: index, maxLength: index }))) },
    ],
  ])('%s cost effort, also without a result', (_, schema) => {
    expect(() => compileJsonSchema(object({ a: schema }), {}, { effort: 20_000 })).toThrow(/too much work/)
  })

  test('long lists are written and searched once', () => {
    const values = Array.from({ length: 30_000 }, (_, index) => ({ a: [index] }))
    const { grammar, enforcement } = compileJsonSchema({ allOf: [{ enum: values }, { enum: values.slice(1).reverse() }] })
    expect(enforcement).toBe('full')
    expect(grammar.split('|')).toHaveLength(29_999)
  })

  test('an object of a thousand required members is one rule', () => {
    const properties = times(1000, () => texts)
    const { grammar } = compileJsonSchema(object(properties, { required: Object.keys(properties) }))
    expect(createMatcher(grammar).matches(JSON.stringify(times(1000, () => 'x')))).toBe(true)
    expect(createMatcher(grammar).matches(JSON.stringify(times(999, () => 'x')))).toBe(false)
  })

  test('large numbers are bounded, not refused', () => {
    const { grammar } = compileJsonSchema({ type: 'array', items: { type: 'string', maxLength: 1_000_000 }, maxItems: 5000 })
    checkGbnf(grammar)
    expect(grammar.length).toBeLessThan(2000)
    expect(
      createMatcher(compileJsonSchema({ type: 'string', maxLength: 3000 }).grammar).matches(JSON.stringify('a'.repeat(3000))),
    ).toBe(true)
    expect(
      createMatcher(compileJsonSchema({ type: 'string', maxLength: 3000 }).grammar).matches(JSON.stringify('a'.repeat(3001))),
    ).toBe(false)
  })
})
