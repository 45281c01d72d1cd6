import { expect, test } from 'vitest'
import { jsonSchema } from './json-schema.ts'

test.each<[string, unknown, unknown]>([
  ['properties', { type: 'object', properties: [], required: [] }, { type: 'object', properties: {}, required: [] }],
  ['properties that are null', { properties: null }, { properties: {} }],
  ['the schema itself', [], {}],
  ['a property', { properties: { a: [] } }, { properties: { a: {} } }],
  ['properties of a property', { properties: { a: { properties: [] } } }, { properties: { a: { properties: {} } } }],
  ['items', { items: [] }, { items: {} }],
  ['properties of items', { items: { properties: [] } }, { items: { properties: {} } }],
  [
    'definitions',
    { $defs: [], definitions: { a: { patternProperties: [] } } },
    { $defs: {}, definitions: { a: { patternProperties: {} } } },
  ],
  ['branches', { anyOf: [[], { properties: [] }] }, { anyOf: [{}, { properties: {} }] }],
])('an empty list in the place of an object is an empty object: %s', (_, given, expected) => {
  expect(jsonSchema.parse(given)).toEqual(expected)
})

test.each([
  { type: 'object', properties: { required: { enum: [] } }, required: [] },
  { properties: { properties: { type: 'string', examples: [] } }, default: [] },
  { type: 'array', items: [{ type: 'string' }], const: [], enum: [[]] },
  { properties: [1], additionalProperties: false },
])('%j is left as it is, without a copy', (schema) => {
  expect(jsonSchema.parse(schema)).toBe(schema)
})
