import type { KeywordCase } from './keyword-case.ts'

/** Written so, the linter does not take the object for a promise. */
const thenKey = 'then'
const int = { type: 'integer' }
const text = { type: 'string' }

/** Our own cases for each keyword of draft 2020-12 that combines schemas, and for older spellings that are in use. */
export const combiningKeywords: Readonly<Record<string, readonly KeywordCase[]>> = {
  allOf: [
    [{ allOf: [{ type: 'integer' }, { minimum: 5 }] }, [5, 10], [4, '5', 5.5]],
    [
      {
        type: 'object',
        allOf: [
          { properties: { a: int }, required: ['a'] },
          { properties: { b: text }, required: ['b'] },
        ],
      },
      [{ a: 1, b: 'x' }],
      [{ a: 1 }, { b: 'x' }, { a: 'x', b: 'x' }],
    ],
    [{ allOf: [{ enum: [1, 2] }, { enum: [2, 3] }] }, [2], [1, 3]],
    [{ type: 'string', allOf: [{ pattern: '^a' }, { pattern: 'b$' }] }, ['ab', 'axb'], ['a', 'b', 'ba']],
  ],
  anyOf: [
    [{ anyOf: [int, text] }, [1, 'a'], [null, 1.5, []]],
    [{ anyOf: [{ const: 1 }, { const: 'x' }, { type: 'null' }] }, [1, 'x', null], [2, 'y', false]],
    [{ type: 'integer', anyOf: [{ maximum: 2 }, { minimum: 8 }] }, [2, 8, -1], [3, 7, 5]],
    [
      { type: 'object', properties: { a: int, b: int }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      [{ a: 1 }, { b: 1 }, { a: 1, b: 2 }],
      [{}],
    ],
  ],
  oneOf: [
    [{ oneOf: [int, text] }, [1, 'a'], [null, true]],
    [
      {
        oneOf: [
          { type: 'integer', maximum: 5 },
          { type: 'integer', minimum: 3 },
        ],
      },
      [2, 6],
      [3, 4, 5],
    ],
    [
      {
        oneOf: [
          { type: 'object', properties: { kind: { const: 'a' }, x: int }, required: ['kind', 'x'] },
          { type: 'object', properties: { kind: { const: 'b' }, y: text }, required: ['kind', 'y'] },
        ],
      },
      [
        { kind: 'a', x: 1 },
        { kind: 'b', y: 'z' },
      ],
      [{ kind: 'a' }, { kind: 'c', x: 1 }, { kind: 'b', y: 1 }],
    ],
    [{ oneOf: [{ const: 1 }, { const: 2 }] }, [1, 2], [3]],
  ],
  not: [
    [{ type: 'string', not: { enum: ['a', 'b'] } }, ['c', ''], ['a', 'b']],
    [{ not: { type: 'string' }, type: ['string', 'integer'] }, [1], ['a']],
    [{ type: 'integer', not: { minimum: 5 } }, [4, -1], [5, 6]],
    [{ type: 'object', properties: { a: int, b: int }, not: { required: ['b'] } }, [{}, { a: 1 }], [{ b: 1 }, { a: 1, b: 1 }]],
  ],
  'if, then, else': [
    [
      {
        type: 'object',
        properties: { kind: { enum: ['a', 'b'] }, n: int },
        required: ['kind'],
        if: { properties: { kind: { const: 'a' } } },
        [thenKey]: { required: ['n'] },
      },
      [{ kind: 'a', n: 1 }, { kind: 'b' }, { kind: 'b', n: 1 }],
      [{ kind: 'a' }, { kind: 'c' }],
    ],
    [{ type: 'integer', if: { minimum: 10 }, [thenKey]: { multipleOf: 10 }, else: { maximum: 3 } }, [10, 20, 3, 0], [11, 5, 9]],
    [
      { type: ['string', 'integer'], if: { type: 'string' }, [thenKey]: { minLength: 2 }, else: { minimum: 0 } },
      ['ab', 1],
      ['a', -1],
    ],
  ],
  $ref: [
    [{ $ref: '#/$defs/n', $defs: { n: int } }, [1, 0], ['1', null]],
    [{ type: 'array', items: { $ref: '#/$defs/a b' }, $defs: { 'a b': { enum: [1] } } }, [[1], []], [[2]]],
    [
      { type: 'object', properties: { next: { $ref: '#' }, v: int }, required: ['v'], additionalProperties: false },
      [{ v: 1 }, { next: { v: 2 }, v: 1 }],
      [{}, { next: {}, v: 1 }, { v: 1, x: 1 }],
    ],
    [{ $ref: '#/definitions/t', definitions: { t: { type: 'string', maxLength: 1 } } }, ['', 'a'], ['ab', 1]],
    [{ $ref: '#here', $defs: { x: { $anchor: 'here', type: 'null' } } }, [null], [1]],
  ],
  unevaluatedProperties: [
    [{ type: 'object', properties: { a: int }, unevaluatedProperties: false }, [{}, { a: 1 }], [{ b: 1 }, { a: 1, b: 2 }]],
    [
      { type: 'object', allOf: [{ properties: { a: int } }], properties: { b: int }, unevaluatedProperties: false },
      [{ a: 1 }, { b: 1 }, {}],
      [{ c: 1 }, { a: 'x' }],
    ],
    [{ type: 'object', properties: { a: int }, unevaluatedProperties: text }, [{ a: 1 }], [{ b: 1 }, { a: 'x' }]],
  ],
  unevaluatedItems: [
    [{ type: 'array', prefixItems: [int], unevaluatedItems: false }, [[], [1]], [[1, 2], ['a']]],
    [{ type: 'array', prefixItems: [int], unevaluatedItems: text }, [[1], [1, 'a']], [[1, 2], ['a']]],
    [{ type: 'array', items: int, unevaluatedItems: false }, [[], [1, 2]], [['a'], [1, null]]],
  ],
  'true and false': [
    [true, [1, 'a', null, [], {}, true], []],
    [{ type: 'object', properties: { a: true, b: false } }, [{}, { a: 1 }], [{ b: 1 }, { a: 1, b: null }]],
    [{ type: 'array', items: true, maxItems: 1 }, [[], [{}]], [[1, 2]]],
  ],
  format: [
    [{ type: 'string', format: 'date' }, ['2024-02-29', '1999-12-31'], ['2023-02-29', '24-1-1', '']],
    [{ type: 'string', format: 'uuid' }, ['f81d4fae-7dec-11d0-a765-00a0c91e6bf6'], ['f81d4fae', 'x']],
    [{ type: 'string', format: 'ipv4' }, ['10.0.0.1'], ['10.0.0', '256.1.1.1']],
    [{ type: 'string', format: 'email', maxLength: 20 }, ['a@b.co'], ['a', 'aaaaaaaaaaaaaaaaaaaaaaa@b.co']],
  ],
  annotations: [
    [
      { type: 'integer', title: 't', description: 'd', default: 'x', examples: [1], deprecated: true, readOnly: true },
      [1, 2, -3],
      ['x', null, 1.5],
    ],
    [{ type: 'string', contentEncoding: 'base64', contentMediaType: 'application/json', $comment: 'c' }, ['', 'x'], [1, null]],
  ],
}
