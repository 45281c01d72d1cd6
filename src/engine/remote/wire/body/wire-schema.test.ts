import { describe, expect, test } from 'vitest'
import { wireSchema } from './wire-schema.ts'

const read = (schema: object, isStrict = false) => wireSchema({ ...schema }, { isStrict })

describe('parameters for servers', () => {
  test.each([
    ['true', { properties: { v: true } }, { properties: { v: {} } }],
    ['false', { properties: { v: false } }, { properties: { v: { not: {} } } }],
    ['items: true', { properties: { v: { items: true } } }, { properties: { v: { items: {} } } }],
    ['a tuple', { prefixItems: [true, { type: 'string' }] }, { prefixItems: [{}, { type: 'string' }] }],
    ['an old tuple', { items: [false] }, { items: [{ not: {} }] }],
    ['alternatives', { anyOf: [true, { items: false }] }, { anyOf: [{}, { items: { not: {} } }] }],
    ['definitions', { $defs: { x: true }, definitions: { y: false } }, { $defs: { x: {} }, definitions: { y: { not: {} } } }],
    ['conditions', { if: true, else: false, not: true }, { if: {}, else: { not: {} }, not: {} }],
    ['nested ones', { additionalProperties: { properties: { v: true } } }, { additionalProperties: { properties: { v: {} } } }],
    ['null keywords', { properties: null, required: null, items: null, type: 'object' }, { type: 'object' }],
    ['null as a schema', { properties: { v: null }, anyOf: [null] }, { properties: { v: {} }, anyOf: [{}] }],
  ])('parameters for servers say with objects what %s means', (_, schema, expected) => {
    expect(read(schema)).toEqual(expected)
    expect(read(schema, true)).toEqual(expected)
  })

  test('parameters for servers are otherwise as they were, in the same order', () => {
    const schema = {
      $schema: 'x',
      type: ['object', 'null'],
      required: ['b', 'a'],
      properties: {
        b: { const: null, default: null, examples: [null], description: 'properties' },
        a: { enum: [null, true, 'x'], minLength: 0, 'x-other': true },
        properties: { type: 'array', items: { $ref: '#/$defs/c' }, uniqueItems: true },
        null: { type: 'boolean', default: false },
      },
      additionalProperties: false,
      unevaluatedProperties: false,
      $defs: { c: { type: 'string' } },
    }
    expect(JSON.stringify(read(schema))).toBe(JSON.stringify(schema))
    expect(JSON.stringify(read(schema, true))).toBe(JSON.stringify(schema))
  })

  test.each([
    ['unknown types', { type: 'any' }],
    ['lists with an unknown type', { type: ['string', 'any'] }],
    ['empty lists', { type: [], enum: [], anyOf: [], oneOf: [], allOf: [] }],
    ['references to elsewhere', { $ref: 'https://x/y' }],
    ['counts that its grammar cannot hold', { minItems: 5000, maxItems: 5000, minLength: 5000, maxLength: 5000 }],
    ['references to nothing', { $ref: '#/$defs/none' }],
  ])('parameters for servers are without %s where the server would refuse the request', (_, schema) => {
    expect(read({ properties: { v: schema } }, true)).toEqual({ properties: { v: {} } })
    expect(read({ properties: { v: schema } })).toEqual({ properties: { v: schema } })
  })

  test('parameters for servers keep references that point to one of their schemas', () => {
    const schema = { properties: { v: { $ref: '#/$defs/a~1b' }, w: { $ref: '#' } }, $defs: { 'a/b': { type: 'string' } } }
    expect(read(schema, true)).toEqual(schema)
  })
})
