import { describe, expect, test } from 'vitest'
import { allowedTypes, type Declared, itemOf, propertyOf } from './schema-types.ts'

const declared = (schema: unknown, root: unknown = schema): Declared => ({ schema, root })

describe('what a schema allows', () => {
  test('is found if two parts refer to the same schema', () => {
    const root = {
      $defs: { a: { type: 'string' }, b: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] } },
      anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }],
    }
    expect(allowedTypes(declared(root))).toEqual(new Set(['string', 'null']))
  })

  test('is not searched for in circles', () => {
    const more = Array.from({ length: 3 }, () => ({ $ref: '#/$defs/x' }))
    const root = { $defs: { x: { anyOf: more, allOf: more } } }
    const x = declared({ $ref: '#/$defs/x' }, root)
    expect(allowedTypes(x)).toBeUndefined()
    expect(propertyOf(x, 'a')).toBeUndefined()
    expect(itemOf(x)).toBeUndefined()
  })

  test('is found in a part after a circular one', () => {
    const root = { $defs: { x: { allOf: [{ $ref: '#/$defs/x' }, { properties: { a: { type: 'integer' } } }] } } }
    expect(allowedTypes(propertyOf(declared({ $ref: '#/$defs/x' }, root), 'a'))).toEqual(new Set(['integer']))
  })

  test('of an undeclared property is that of additional properties', () => {
    const schema = { properties: { a: { type: 'string' } }, additionalProperties: { type: 'number' } }
    expect(propertyOf(declared(schema), 'b')?.schema).toEqual({ type: 'number' })
    expect(propertyOf(declared(schema), 'a')?.schema).toEqual({ type: 'string' })
  })
})
