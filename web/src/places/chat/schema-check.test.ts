import { expect, test } from 'vitest'
import { schemaProblems } from './schema-check.ts'

const city = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2 },
    people: { type: 'integer', minimum: 1 },
    tags: { type: 'array', items: { enum: ['a', 'b'] } },
  },
  required: ['name'],
  additionalProperties: false,
}

test.each([
  [{ name: 'Oslo', people: 700_000, tags: ['a'] }, city, []],
  [[], city, ['the answer must be object, and is array']],
  [{ people: 0.5 }, city, ['the answer lacks "name"', 'people must be integer, and is number']],
  [{ name: 'O', people: 0 }, city, ['name is shorter than 2', 'people is less than 1']],
  [{ name: 'Oslo', mayor: 1 }, city, ['mayor must not be there']],
  [{ name: 'Oslo', tags: ['a', 'c'] }, city, ['tags[1] must be one of "a", "b"']],
  [3, { type: ['string', 'number'] }, []],
  [null, { anyOf: [{ type: 'string' }, { type: 'null' }] }, []],
  [1, { anyOf: [{ type: 'string' }] }, ['the answer matches none of the alternatives']],
  [1, { oneOf: [{ type: 'number' }, { minimum: 0 }] }, ['the answer must match exactly one of the alternatives']],
  [
    { a: { a: 1 } },
    { $ref: '#/$defs/x', $defs: { x: { properties: { a: { $ref: '#/$defs/x' } }, type: 'object' } } },
    ['a.a must be object, and is integer'],
  ],
  // A pattern is the server's matter: this one would take hours.
  [`${'a'.repeat(60)}!`, { pattern: '^(a+)+$' }, []],
  [[1, 'x'], { prefixItems: [{ type: 'number' }, { const: 'y' }] }, ['the answer[1] must be "y"']],
])('the answer %j is checked against its schema', (value, schema, problems) => {
  expect(schemaProblems(value, schema)).toEqual(problems)
})

test.each([
  ['one that is itself', { $ref: '#' }],
  ['alternatives of alternatives', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
  [
    'much from little',
    {
      $ref: '#/$defs/s40',
      $defs: Object.fromEntries(
        Array.from({ length: 40 }, (_, index) => [`s${index + 1}`, { allOf: Array(2).fill({ $ref: `#/$defs/s${index}` }) }]),
      ),
    },
  ],
])('a schema that is too much work is not checked to the end: %s', (_name, schema) => {
  expect(() => schemaProblems(1, schema)).toThrow(RangeError)
})
