import { expect, test } from 'vitest'
import type { JsonObject } from '../contract/request.ts'
import { argumentsSchema } from './callable-tools.ts'

test.each<[JsonObject | undefined, JsonObject]>([
  [undefined, { type: 'object', properties: {}, additionalProperties: false }],
  [{}, { type: 'object', properties: {}, additionalProperties: false }],
  [{ type: 'object' }, { type: 'object' }],
  [{ properties: { n: {} } }, { type: 'object', properties: { n: {} } }],
  [{ type: ['object', 'null'] }, { type: 'object' }],
  [{ type: 'string' }, { type: 'object' }],
  [
    { $ref: '#/$defs/a', $defs: { a: {} } },
    { type: 'object', $ref: '#/$defs/a', $defs: { a: {} } },
  ],
])('the arguments of a tool with the parameters %j are an object', (parameters, schema) => {
  expect(argumentsSchema({ parameters })).toEqual(schema)
})
