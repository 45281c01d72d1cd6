import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { randomSchema } from '../../test/support/hostile/random-schema.ts'
import { compileJsonObject, compileJsonSchema, object, texts } from '../../test/support/llama/compile-json-schema.ts'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { roundsOf } from '../../test/support/process/soak-length.ts'
import { createRandom } from '../../test/support/random.ts'
import { checkGbnf } from './rules/check-gbnf.ts'
import { GrammarError } from './rules/grammar-error.ts'

function validator(schema: unknown): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true, validateSchema: false })
  addFormats.default(ajv)
  return ajv.compile(schema as object | boolean)
}

describe('the grammar of a schema', () => {
  test.each<[string, unknown, unknown[], unknown[]]>([
    [
      'no object with a property, where others are of another type',
      { type: ['object', 'string'], not: { required: ['a'] } },
      [{}],
      ['x', { a: 1 }],
    ],
    [
      'two kinds of items that no value is both of',
      {
        type: 'array',
        items: { enum: ['a', 'b'] },
        maxItems: 2,
        allOf: [{ contains: { const: 'a' } }, { contains: { const: 'b' } }],
      },
      [['a', 'b']],
      [['a'], ['a', 'a'], []],
    ],
    [
      'an item that cannot be in the tuple',
      { type: 'array', prefixItems: [texts], contains: { type: 'number' } },
      [['x', 1]],
      [['x'], [1]],
    ],
    [
      'an item that can only be inside the tuple',
      { type: 'array', prefixItems: [texts, { type: ['number', 'null'] }], items: false, contains: { type: 'number' } },
      [['x', 1]],
      [['x'], ['x', null]],
    ],
    [
      'a required and an optional property',
      object({ a: texts, b: texts }, { required: ['b'] }),
      [{ b: '' }, { a: '', b: 'é😀"\\\n' }],
      [{}, { a: '' }, { b: 1 }, { b: '', c: 1 }],
    ],
    ['no required property', object({ a: texts, b: texts }), [{}, { a: '' }, { b: '' }, { a: '', b: '' }], [[]]],
    [
      'a required property that is not declared',
      object({ a: texts }, { required: ['z'] }),
      [{ z: 1 }, { a: '', z: null }],
      [{}, { a: '' }],
    ],
    ['a map', { type: 'object', additionalProperties: { type: 'integer' } }, [{}, { x: 1 }, { x: 1, 'y "z"': -2 }], [{ x: '' }]],
    [
      'other members beside declared ones',
      object({ a: texts }, { additionalProperties: { type: 'null' } }),
      [{ a: '' }, { a: '', ab: null }, { b: null }],
      [{ a: null }, { ab: '' }],
    ],
    [
      'names by pattern',
      object({ a: {} }, { patternProperties: { '^x': { type: 'integer' } }, additionalProperties: false }),
      [{ x1: 1 }, { a: [], xx: 2 }],
      [{ y: 1 }, { x: '' }],
    ],
    [
      'a declared name that a pattern also speaks of',
      object({ xa: { minimum: 3 } }, { patternProperties: { '^x': { maximum: 4 } } }),
      [{ xa: 3.5 }],
      [{ xa: 5 }, { xa: 2 }],
    ],
    ['allowed names', { type: 'object', propertyNames: { enum: ['a', 'b'] } }, [{ a: 1 }, { b: 2 }], [{ c: 1 }]],
    [
      'a number of members',
      object({ a: {}, b: {}, c: {} }, { minProperties: 1, maxProperties: 2 }),
      [{ a: 1 }, { a: 1, c: 1 }],
      [{}, { a: 1, b: 1, c: 1 }],
    ],
    [
      'a tuple',
      { type: 'array', prefixItems: [texts, { type: 'null' }], items: false },
      [[], ['a'], ['a', null]],
      [
        ['a', 'b'],
        ['a', null, 1],
      ],
    ],
    [
      'the older spelling of a tuple',
      { type: 'array', items: [texts], additionalItems: { type: 'null' } },
      [['a', null, null]],
      [['a', 1]],
    ],
    [
      'a number of items',
      { type: 'array', items: texts, minItems: 1, maxItems: 3 },
      [['a'], ['a', 'b', 'c']],
      [[], ['a', 'b', 'c', 'd']],
    ],
    [
      'an item that must be there',
      { type: 'array', items: { type: ['string', 'null'] }, contains: { type: 'null' } },
      [[null], [null, 'a']],
      [[], ['a']],
    ],
    ['integers', { type: 'integer' }, [0, -1, 1234567890123456], [1.5, '1']],
    [
      'a range of integers',
      { type: 'integer', minimum: -12, maximum: 305 },
      [-12, -1, 0, 7, 99, 100, 305],
      [-13, -20, 306, 400, 1000],
    ],
    ['a range without one end', { type: 'integer', exclusiveMinimum: 99 }, [100, 999, 123456], [99, 1, 0, -100]],
    [
      'safe integers',
      { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
      [9007199254740991, -9007199254740991, 0],
      [],
    ],
    [
      'a range of numbers',
      { type: 'number', minimum: -0.5, exclusiveMaximum: 2.25 },
      [-0.5, -0.25, 0, 1, 2.2499, 2],
      [-0.51, 2.25, 2.3, 3, -1],
    ],
    [
      'a small range',
      { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1e-3 },
      [0.0005, 0.00099],
      [0, 0.001, 0.1, -0.0001],
    ],
    ['an older spelling of exclusion', { type: 'integer', minimum: 3, exclusiveMinimum: true }, [4], [3]],
    ['lengths in characters', { type: 'string', minLength: 2, maxLength: 3 }, ['ab', '😀😀😀', '\n"'], ['a', 'abcd']],
    ['a pattern anywhere', { type: 'string', pattern: 'b+' }, ['abc', 'b'], ['', 'acd']],
    ['a pattern of the whole', { type: 'string', pattern: '^(?:a|"\\\\){2,3}$' }, ['aa', '"\\a', 'aaa'], ['a', 'aaaa', '"']],
    ['a pattern and a length', { type: 'string', pattern: '^[a-z]+$', maxLength: 3 }, ['a', 'abc'], ['', 'abcd']],
    ['two patterns', { type: 'string', allOf: [{ pattern: 'a' }, { pattern: '^[ab]*$' }] }, ['ba'], ['b', 'ac']],
    ['conditions at the start of a pattern', { type: 'string', pattern: '^(?=.*\\d)(?!.*x)\\w{2,}$' }, ['a1'], ['ab', 'x1', '1']],
    ['enumerated values', { enum: ['a', 1, null, { k: [true] }] }, ['a', 1, null, { k: [true] }], ['b', 2, {}]],
    ['enumerated values with other conditions', { enum: ['a', 'bb', 1], type: 'string', minLength: 2 }, ['bb'], ['a', 1]],
    ['several types', { type: ['integer', 'null'] }, [1, null], [1.5, '']],
    [
      'all of several',
      { allOf: [object({ a: texts }, { required: ['a'] }), object({ b: texts }, { required: ['b'] })] },
      [{ a: '', b: '' }],
      [{ a: '' }, { b: '' }],
    ],
    ['any of several', { anyOf: [{ type: 'null' }, { type: 'array', items: texts }] }, [null, [], ['']], [1, [1]]],
    [
      'a discriminated union',
      {
        oneOf: [object({ t: { const: 'a' }, x: texts }, { required: ['t'] }), object({ t: { const: 'b' } }, { required: ['t'] })],
      },
      [{ t: 'a', x: '' }, { t: 'b' }],
      [{ t: 'b', x: '' }, { t: 'c' }],
    ],
    [
      'alternatives that require different members',
      { type: 'object', oneOf: [object({ a: {} }, { required: ['a'] }), object({ b: {} }, { required: ['b'] })] },
      [{ a: 1 }, { b: 1 }],
      [{ a: 1, b: 1 }, {}],
    ],
    ['a dependency', object({ a: {}, b: {} }, { dependentRequired: { a: ['b'] } }), [{}, { b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
    [
      'a reference and what stands beside it',
      { $defs: { t: { type: 'string' } }, $ref: '#/$defs/t', minLength: 1 },
      ['a'],
      ['', 1],
    ],
    [
      'a tree',
      { $id: 'tree', ...object({ v: { type: 'integer' }, c: { type: 'array', items: { $ref: '#' } } }, { required: ['v'] }) },
      [{ v: 1, c: [{ v: 2, c: [] }, { v: 3 }] }],
      [{ v: 1, c: [{}] }],
    ],
    [
      'properties that nothing evaluates',
      { allOf: [object({ a: texts })], properties: { b: texts }, unevaluatedProperties: false },
      [{ b: '', a: '' }, {}],
      [{ c: '' }],
    ],
    [
      'items that nothing evaluates',
      { type: 'array', prefixItems: [texts], unevaluatedItems: { type: 'null' } },
      [['a'], ['a', null]],
      [['a', 'b']],
    ],
    [
      'a schema that depends on a member',
      object({ a: {}, b: texts }, { dependentSchemas: { a: { required: ['b'] } } }),
      [{ a: 1, b: '' }, { b: '' }, {}],
      [{ a: 1 }],
    ],
    ['a reference to an anchor', { $ref: '#text', $defs: { t: { $anchor: 'text', ...texts } } }, ['a'], [1]],
    [
      'a reference to a schema with an id',
      { $id: 'https://example.com/a', $ref: 'b', $defs: { b: { $id: 'b', type: 'null' } } },
      [null],
      ['a'],
    ],
    ['a dynamic reference with one target', { $dynamicRef: '#t', $defs: { t: { $dynamicAnchor: 't', ...texts } } }, ['a'], [1]],
    ['a constant condition', JSON.parse('{"if": true, "then": {"type": "null"}, "else": false}'), [null], ['a']],
    ['names by a pattern', { type: 'object', propertyNames: { pattern: '^[ab]{2}$' } }, [{ ab: 1 }, {}], [{ abc: 1 }]],
    ['two items of a kind', { type: 'array', contains: { type: 'null' }, minContains: 2 }, [[null, null]], [[null], []]],
    ['values of other types', { not: { type: ['string', 'null'] } }, [1, [], {}], ['a', null]],
    ['everything', true, [1, 'a', null, [[]], { a: { b: [1.5e3] } }], []],
  ])('the grammar of a schema allows its values only: %s', (_, schema, accepted, rejected) => {
    const compiled = compileJsonSchema(schema)
    expect(compiled).toMatchObject({ enforcement: 'full', unenforced: [] })
    checkGbnf(compiled.grammar)
    const matcher = createMatcher(compiled.grammar)
    expect(accepted.filter((value) => !matcher.matches(JSON.stringify(value)))).toEqual([])
    expect(rejected.filter((value) => matcher.matches(JSON.stringify(value)))).toEqual([])
    const validate =
      schema !== true && !JSON.stringify(schema).match(/"exclusiveMinimum":true|additionalItems|dynamicRef/)
        ? validator(schema)
        : undefined
    const random = createRandom(3)
    for (let count = 0; count < 30; count++) {
      const text = matcher.generate(random, 120)
      const value: unknown = JSON.parse(text)
      expect(validate?.(value) ?? true, text).toBe(true)
    }
  })

  test.each([
    'date',
    'time',
    'date-time',
    'duration',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'uri',
    'uri-reference',
    'url',
    'uuid',
    'json-pointer',
    'relative-json-pointer',
    'uri-template',
    'iso-date-time',
    'byte',
    'json-pointer-uri-fragment',
    'int32',
    'float',
  ])('format %s: every text is one that Ajv accepts', (format) => {
    const schema = format === 'int32' || format === 'float' ? { type: 'number', format } : { type: 'string', format }
    const compiled = compileJsonSchema(schema.format === 'int32' ? { ...schema, type: 'integer' } : schema)
    expect(compiled.enforcement).toBe('full')
    const validate = validator(schema)
    const matcher = createMatcher(compiled.grammar)
    const random = createRandom(5)
    for (let count = 0; count < 200; count++) {
      const text = matcher.generate(random, 60)
      expect(validate(JSON.parse(text)), text).toBe(true)
    }
  })

  test('random schemas: every text is JSON, and valid where enforcement is full', () => {
    const random = createRandom(11)
    const schemas = roundsOf(60, 120)
    const counts = { full: 0, partial: 0, refused: 0 }
    for (let count = 0; count < schemas; count++) {
      const schema = randomSchema(random)
      try {
        const compiled = compileJsonSchema(schema)
        counts[compiled.enforcement]++
        checkGbnf(compiled.grammar)
        const matcher = createMatcher(compiled.grammar)
        const validate = validator(schema)
        for (let sample = 0; sample < 3; sample++) {
          const text = matcher.generate(random, 200)
          const isValid = validate(JSON.parse(text))
          if (compiled.enforcement === 'full')
            expect(isValid, `${JSON.stringify(schema)}\n${text}\n${JSON.stringify(validate.errors)}`).toBe(true)
        }
      } catch (error) {
        if (!(error instanceof GrammarError)) throw error
        expect(error.message).toMatch(/allows no value/)
        counts.refused++
      }
    }
    expect(counts.full).toBeGreaterThan(0.6 * schemas)
    expect(counts.refused).toBeLessThan(0.2 * schemas)
  })
})

describe('a least number of members, where others than the declared ones may come', () => {
  const ofLeast = (minProperties: number) => object({ a: texts }, { required: ['a'], minProperties, additionalProperties: true })

  test('is enforced for one more than the required ones', () => {
    const compiled = compileJsonSchema(ofLeast(2))
    expect(compiled).toMatchObject({ enforcement: 'full', unenforced: [] })
    const matcher = createMatcher(compiled.grammar)
    expect(matcher.matches('{"a": "", "b": 1}')).toBe(true)
    expect(matcher.matches('{"a": ""}')).toBe(false)
  })

  test('is a gap for more: nothing keeps the others distinct', () => {
    expect(compileJsonSchema(ofLeast(3)).unenforced).toEqual([{ keyword: 'minProperties', path: '#' }])
  })
})

describe('members in the order of the schema', () => {
  const schema = object({ a: texts, b: { type: 'null' }, c: { type: 'boolean' } }, { required: ['a'] })
  test.each<[string, boolean]>([
    ['{"a":"","b":null}', true],
    ['{"b":null,"a":""}', false],
    ['{"a":"","a":""}', false],
  ])('%s: %s', (text, accepted) => {
    expect(createMatcher(compileJsonSchema(schema).grammar).matches(text)).toBe(accepted)
  })
})

describe('texts around values', () => {
  test.each<[string, boolean]>([
    ['{"a":[1,2]}', true],
    ['{"a": [1, 2]}', true],
    ['{ "a":[1,2]}', false],
    ['{"a":  [1,2]}', false],
    ['{"a":"\\u0041\\n\\/"}', true],
    ['{"a":"\\ud800"}', false],
    ['{"a":"\n"}', false],
    ['{"a":01}', false],
    ['{"a":1e400}', false],
    ['[]', false],
  ])('%s: %s', (text, accepted) => {
    expect(createMatcher(compileJsonObject().grammar).matches(text)).toBe(accepted)
  })
})
