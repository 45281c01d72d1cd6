import { describe, expect, test } from 'vitest'
import { createLikeness } from './likeness.ts'
import type { SchemaObject } from './schema-document.ts'

const text = { type: 'string', minLength: 1 }

describe('the likeness of schemas', () => {
  test.each<[string, SchemaObject, SchemaObject]>([
    ['descriptions and examples aside', { ...text, description: 'a', examples: ['x'] }, { ...text, title: 'b', default: 'y' }],
    ['annotations of members aside', { properties: { a: { ...text, description: 'a' } } }, { properties: { a: text } }],
    ['definitions that nothing refers to aside', { ...text, $defs: { a: { type: 'null' } } }, text],
    ['also in lists', { anyOf: [text, { type: 'null', $comment: 'none' }] }, { anyOf: [{ ...text }, { type: 'null' }] }],
  ])('%s, they are alike', (_, one, other) => {
    const likenessOf = createLikeness()
    expect(likenessOf({ ...one })).toBeTypeOf('number')
    expect(likenessOf({ ...one })).toBe(likenessOf({ ...other }))
  })

  test.each<[string, SchemaObject, SchemaObject]>([
    ['values', { minLength: 1 }, { minLength: 2 }],
    ['kinds of value', { const: 1 }, { const: '1' }],
    ['names of members', { properties: { a: text } }, { properties: { b: text } }],
    ['the order of members', { properties: { a: text, b: text } }, { properties: { b: text, a: text } }],
    ['members called like annotations', { properties: { title: text } }, { properties: { default: text } }],
    ['one schema for items and a list of them', { items: text }, { items: [text] }],
    ['keywords that nobody here knows', { 'x-a': 1 }, { 'x-a': 2 }],
    ['listed values that look like annotations', { enum: [{ title: 'a' }] }, { enum: [{ title: 'b' }] }],
  ])('%s make a difference', (_, one, other) => {
    const likenessOf = createLikeness()
    expect(likenessOf(one)).not.toBe(likenessOf(other))
  })

  test.each<[string, SchemaObject]>([
    ['a reference', { $ref: '#/$defs/a' }],
    ['a reference inside', { properties: { a: { items: { $ref: '#' } } } }],
    ['what can be referred to', { items: { $anchor: 'a' } }],
    ['what changes how references are read', { $id: 'https://example.com/a' }],
    ['what is no schema', { properties: { a: 3 } }],
    ['a list with what is no schema', { anyOf: [text, [5]] }],
  ])('%s is like nothing else', (_, schema) => {
    expect(createLikeness()(schema)).toBeUndefined()
  })

  test('a schema that holds itself is like nothing else', () => {
    const schema: Record<string, unknown> = { type: 'array' }
    schema.items = schema
    expect(createLikeness()(schema)).toBeUndefined()
  })
})
