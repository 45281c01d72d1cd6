import { expect, test } from 'vitest'
import type { JsonObject } from '../../contract/request.ts'
import { plainSchema } from './plain-schema.ts'

const object = (a: unknown, more: JsonObject = {}): JsonObject => ({ type: 'object', properties: { a }, ...more })
const open = { properties: {}, additionalProperties: true }

test.each<[string, JsonObject, JsonObject]>([
  ['an empty schema', {}, { type: 'object', properties: {} }],
  ['nulls', { type: 'object', properties: null, required: null }, { type: 'object', properties: {} }],
  ['true', object(true), object({})],
  ['false', object(false), object({ description: 'JSON Schema: false' })],
  ['a type that may be null', object({ type: ['string', 'null'] }), object({ type: 'string', nullable: true })],
  [
    'several types',
    object({ type: ['string', 'integer'], description: 'd' }),
    object({ type: 'string', description: 'd JSON Schema: {"type":["string","integer"]}' }),
  ],
  ['null alone', object({ type: 'null' }), object({ description: 'JSON Schema: {"type":"null"}' })],
  ['a branch beside null', object({ anyOf: [{ type: 'string' }, { type: 'null' }] }), object({ type: 'string', nullable: true })],
  [
    'branches of objects',
    { anyOf: [object({ type: 'string' }), { type: 'object', properties: { b: {} } }] },
    {
      type: 'object',
      properties: { b: {}, a: { type: 'string' } },
      description: `JSON Schema: ${JSON.stringify({
        anyOf: [
          { ...open, ...object({ type: 'string' }) },
          { ...open, type: 'object', properties: { b: {} } },
        ],
      })}`,
    },
  ],
  [
    'a reference',
    object({ $ref: '#/$defs/x~1y', description: 'here' }, { $defs: { 'x/y': { type: 'string', description: 'there' } } }),
    object({ type: 'string', description: 'here' }),
  ],
  [
    'a reference to the schema around it',
    object({ $ref: '#/$defs/t' }, { $defs: { t: { items: { $ref: '#/$defs/t' } } } }),
    object({ items: { description: 'JSON Schema: {"$ref":"#/$defs/t"}' }, type: 'array' }),
  ],
  [
    'a reference to nothing',
    object({ $ref: '#/$defs/toString' }),
    object({ description: 'JSON Schema: {"$ref":"#/$defs/toString"}' }),
  ],
  ['an object inside', object({ type: 'object' }), object({ ...open, type: 'object' })],
  [
    'a list of items',
    object({ type: 'array', items: [{}] }),
    object({ type: 'array', description: 'JSON Schema: {"items":[{}]}' }),
  ],
  ['a description that is no text', object({ description: 5 }), object({ description: '5' })],
  ['null as a value', object({ const: null, default: null }), object({ const: null, default: null })],
])('%s in plain words', (_, given, plain) => {
  expect(plainSchema(given)).toEqual(plain)
})

test('a plain schema is the same, with the order of its keys', () => {
  const plain = {
    $schema: 'x',
    properties: { b: { type: 'string', enum: ['x'] }, a: { items: {}, type: 'array' } },
    type: 'object',
  }
  expect(JSON.stringify(plainSchema(plain))).toBe(JSON.stringify(plain))
})

test('references that would be written out a million times are not', () => {
  const twice = (name: string) => ({ properties: { a: { $ref: `#/$defs/${name}` }, b: { $ref: `#/$defs/${name}` } } })
  const levels = Array.from({ length: 30 }, (_, level) => [`l${level}`, twice(`l${level + 1}`)])
  expect(plainSchema({ ...twice('l0'), $defs: { ...Object.fromEntries(levels), l30: {} } })).toBeUndefined()
})
