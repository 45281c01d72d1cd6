import { describe, expect, test } from 'vitest'
import { createFingerprints } from './fingerprint.ts'
import type { SchemaObject } from './schema-document.ts'

const text = { type: 'string', minLength: 1 }

describe('the fingerprint of a schema', () => {
  test.each<[string, SchemaObject, SchemaObject]>([
    ['descriptions and examples', { ...text, description: 'a', examples: ['x'] }, { ...text, title: 'b', default: 'y' }],
    ['annotations of members', { properties: { a: { ...text, description: 'a' } } }, { properties: { a: text } }],
    ['unused definitions', { ...text, $defs: { a: { type: 'null' } } }, text],
    ['annotations in lists', { anyOf: [text, { type: 'null', $comment: 'none' }] }, { anyOf: [{ ...text }, { type: 'null' }] }],
  ])('the fingerprint of a schema ignores %s', (_, one, other) => {
    const fingerprintOf = createFingerprints()
    expect(fingerprintOf({ ...one })).toBeTypeOf('number')
    expect(fingerprintOf({ ...one })).toBe(fingerprintOf({ ...other }))
  })

  test.each<[string, SchemaObject, SchemaObject]>([
    ['values', { minLength: 1 }, { minLength: 2 }],
    ['kinds of value', { const: 1 }, { const: '1' }],
    ['names of members', { properties: { a: text } }, { properties: { b: text } }],
    ['the order of members', { properties: { a: text, b: text } }, { properties: { b: text, a: text } }],
    ['members called like annotations', { properties: { title: text } }, { properties: { default: text } }],
    ['one schema for items and a list of them', { items: text }, { items: [text] }],
    ['unknown keywords', { 'x-a': 1 }, { 'x-a': 2 }],
    ['listed values that look like annotations', { enum: [{ title: 'a' }] }, { enum: [{ title: 'b' }] }],
  ])('the fingerprint of a schema depends on %s', (_, one, other) => {
    const fingerprintOf = createFingerprints()
    expect(fingerprintOf(one)).not.toBe(fingerprintOf(other))
  })

  test.each<[string, SchemaObject]>([
    ['a reference', { $ref: '#/$defs/a' }],
    ['a reference inside', { properties: { a: { items: { $ref: '#' } } } }],
    ['the target of a reference', { items: { $anchor: 'a' } }],
    ['a base URI', { $id: 'https://example.com/a' }],
    ['a member that is not a schema', { properties: { a: 3 } }],
    ['a list of other things than schemas', { anyOf: [text, [5]] }],
  ])('the fingerprint of a schema does not exist for %s', (_, schema) => {
    expect(createFingerprints()(schema)).toBeUndefined()
  })

  test('the fingerprint of a schema does not exist for a schema that contains itself', () => {
    const schema: Record<string, unknown> = { type: 'array' }
    schema.items = schema
    expect(createFingerprints()(schema)).toBeUndefined()
  })
})
