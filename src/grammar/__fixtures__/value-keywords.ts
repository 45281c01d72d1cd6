import type { KeywordCase } from './keyword-case.ts'

const int = { type: 'integer' }
const text = { type: 'string' }

/** Our own cases for each keyword of draft 2020-12 about values: types, numbers, texts, lists and objects. */
export const valueKeywords: Readonly<Record<string, readonly KeywordCase[]>> = {
  type: [
    [int, [0, -7, 12, 1e3], ['1', 1.5, null, true, [], {}]],
    [{ type: 'number' }, [0, -1.5, 1e-3], ['0', null, false]],
    [text, ['', 'é', '1'], [1, null, ['a']]],
    [{ type: 'boolean' }, [true, false], [0, 'true', null]],
    [{ type: 'null' }, [null], [0, '', false, {}]],
    [{ type: 'array' }, [[], [1, 'a']], [{}, '[]']],
    [{ type: 'object' }, [{}, { a: 1 }], [[], null]],
    [{ type: ['integer', 'null'] }, [1, null], ['1', 1.5, {}]],
    [{ type: ['array', 'string'] }, [[], ''], [1, null]],
    [{ type: ['number', 'boolean'] }, [0.5, true], ['a', null]],
  ],
  enum: [
    [{ enum: [1, 2, 3] }, [1, 2, 3], [0, 4, '1']],
    [{ enum: ['a', 'b c', '"'] }, ['a', 'b c', '"'], ['c', '', 'a ']],
    [{ enum: [null, true, {}] }, [null, true, {}], [false, [], { a: 1 }]],
    [{ enum: [{ a: [1] }] }, [{ a: [1] }], [{ a: [2] }, { a: 1 }, {}]],
    [{ type: 'string', enum: ['x', 1] }, ['x'], [1, 'y']],
    [{ enum: [0, false] }, [0, false], [null, '']],
  ],
  const: [
    [{ const: 5 }, [5], [6, '5', null]],
    [{ const: 'é\n' }, ['é\n'], ['é', 'e\n']],
    [{ const: null }, [null], [0, false]],
    [{ const: { a: 1, b: [] } }, [{ a: 1, b: [] }], [{ a: 1 }, { a: 1, b: {} }]],
    [{ const: [1, [2]] }, [[1, [2]]], [[1], [1, 2]]],
    [{ const: false }, [false], [0, null, true]],
  ],
  multipleOf: [
    [{ type: 'integer', multipleOf: 3 }, [0, 3, -9, 300], [1, 2, -10]],
    [{ type: 'integer', multipleOf: 10 }, [0, 10, 250], [1, 15, 101]],
    [{ type: 'number', multipleOf: 0.5 }, [0, 1, 2.5], [0.25, 1.3], [-0.5]],
    [{ type: 'integer', multipleOf: 7, minimum: 10, maximum: 30 }, [14, 21, 28], [7, 10, 35]],
    [{ type: 'number', multipleOf: 0.01 }, [1.25, 0.1, 3], [0.005, 1.255]],
  ],
  minimum: [
    [{ type: 'integer', minimum: 10 }, [10, 11, 99, 100], [9, 0, -10]],
    [{ type: 'integer', minimum: -5 }, [-5, -1, 0, 7], [-6, -50]],
    [{ type: 'number', minimum: 1.5 }, [1.5, 1.51, 2, 10], [1.4, 0, -2]],
    [{ type: 'integer', minimum: 0 }, [0, 1], [-1, -100]],
    [{ minimum: 3 }, [3, 4.5], [2, 2.99]],
  ],
  maximum: [
    [{ type: 'integer', maximum: 10 }, [10, 9, 0, -3], [11, 100]],
    [{ type: 'integer', maximum: -5 }, [-5, -6, -50], [-4, 0, 5]],
    [{ type: 'number', maximum: 0.75 }, [0.75, 0.5, 0, -8], [0.76, 1]],
    [{ type: 'integer', minimum: 95, maximum: 105 }, [95, 99, 100, 105], [94, 106, 9]],
    [{ maximum: 300 }, [300, -1], [301, 300.5]],
  ],
  exclusiveMinimum: [
    [{ type: 'integer', exclusiveMinimum: 3 }, [4, 10], [3, 2, -4]],
    [{ type: 'number', exclusiveMinimum: 0 }, [0.1, 5], [0, -0.1]],
    [{ type: 'integer', exclusiveMinimum: -1 }, [0, 1], [-1, -2]],
    [{ type: 'number', exclusiveMinimum: 1.5, maximum: 2 }, [1.75, 2], [1.5, 1, 2.5]],
  ],
  exclusiveMaximum: [
    [{ type: 'integer', exclusiveMaximum: 3 }, [2, 0, -9], [3, 4]],
    [{ type: 'number', exclusiveMaximum: 1 }, [0.9, 0, -1], [1, 1.1]],
    [{ type: 'integer', exclusiveMaximum: 0 }, [-1, -10], [0, 1]],
    [{ type: 'number', minimum: 2, exclusiveMaximum: 2.5 }, [2, 2.25], [2.5, 1.9, 3]],
  ],
  minLength: [
    [{ type: 'string', minLength: 2 }, ['ab', 'abc', '日本'], ['', 'a', '日']],
    [{ minLength: 1 }, ['a', ' '], ['']],
    [{ type: 'string', minLength: 2 }, ['😀😀', '\n\t'], ['😀', '\n']],
    [{ type: 'string', minLength: 40 }, ['x'.repeat(40), 'x'.repeat(55)], ['x'.repeat(39), '']],
  ],
  maxLength: [
    [{ type: 'string', maxLength: 2 }, ['', 'a', 'ab', '日本'], ['abc', '日本語']],
    [{ type: 'string', maxLength: 0 }, [''], ['a', ' ']],
    [{ type: 'string', maxLength: 2 }, ['😀😀', '"\\'], ['😀😀😀', '"""']],
    [{ type: 'string', minLength: 1, maxLength: 1 }, ['a', 'é'], ['', 'ab']],
  ],
  pattern: [
    [{ type: 'string', pattern: '^a+$' }, ['a', 'aaa'], ['', 'b', 'ab', 'ba']],
    [{ type: 'string', pattern: 'b' }, ['b', 'abc'], ['', 'a']],
    [{ type: 'string', pattern: '^\\d{2}-\\w+$' }, ['12-ab', '00-_'], ['1-a', '12-', 'x12-a']],
    [{ type: 'string', pattern: '^(?!x)[a-z]+$' }, ['abc'], ['xabc', '']],
    [{ type: 'string', pattern: '^.{2,3}$', maxLength: 2 }, ['ab'], ['a', 'abc']],
    [{ type: 'string', pattern: '^[^"\\\\]*$' }, ['', 'a b'], ['"', '\\']],
  ],
  items: [
    [{ type: 'array', items: int }, [[], [1], [1, 2, 3]], [['a'], [1, null]]],
    [{ type: 'array', items: { type: 'array', items: text } }, [[[]], [['a'], []]], [['a'], [[1]]]],
    [{ type: 'array', items: false }, [[]], [[1], [null]]],
    [{ type: 'array', prefixItems: [text], items: int }, [[], ['a'], ['a', 1, 2]], [[1], ['a', 'b']]],
    [{ items: { enum: [0, 1] } }, [[], [0, 1, 0]], [[2], ['0']]],
  ],
  prefixItems: [
    [{ type: 'array', prefixItems: [int, text], items: false }, [[], [1], [1, 'a']], [['a'], [1, 2], [1, 'a', 0]]],
    [{ type: 'array', prefixItems: [int, text], minItems: 2 }, [[1, 'a']], [[1], [], ['a', 1]]],
    [{ type: 'array', prefixItems: [{ const: 1 }], items: { type: 'null' } }, [[1], [1, null]], [[2], [1, 1]]],
  ],
  contains: [
    [
      { type: 'array', items: { enum: [1, 2] }, contains: { const: 2 }, maxItems: 3 },
      [[2], [2, 1, 2]],
      [[], [1], [1, 1]],
      [[1, 2]],
    ],
    [{ type: 'array', items: { enum: ['a', 'b'] }, contains: { const: 'a' } }, [['a'], ['a', 'b']], [[], ['b']], [['b', 'a']]],
    [{ type: 'array', items: int, contains: { const: 7 }, maxItems: 2 }, [[7], [7, 1]], [[], [1, 2]], [[1, 7]]],
  ],
  minContains: [
    [
      { type: 'array', items: { enum: [1, 2] }, contains: { const: 2 }, minContains: 2 },
      [
        [2, 2],
        [2, 2, 1],
      ],
      [[], [2], [2, 1]],
      [[2, 1, 2]],
    ],
    [{ type: 'array', items: { enum: [1, 2] }, contains: { const: 2 }, minContains: 0 }, [[], [1], [2]], [[3], ['2']]],
    [
      { type: 'array', items: { enum: ['x', 'y'] }, contains: { const: 'x' }, minContains: 1 },
      [['x'], ['x', 'y']],
      [[], ['y']],
      [['y', 'x']],
    ],
  ],
  maxContains: [
    [
      { type: 'array', items: { enum: [1, 2] }, contains: { const: 2 }, maxContains: 1 },
      [[2], [2, 1]],
      [[], [2, 2], [1]],
      [[1, 2]],
    ],
    [{ type: 'array', items: { enum: [1, 2] }, contains: { const: 2 }, maxContains: 2 }, [[2], [2, 2, 1]], [[2, 2, 2], []]],
    [{ type: 'array', items: { enum: [0] }, contains: { const: 0 }, maxContains: 1 }, [[0]], [[0, 0], []]],
  ],
  minItems: [
    [
      { type: 'array', items: int, minItems: 2 },
      [
        [1, 2],
        [1, 2, 3],
      ],
      [[], [1]],
    ],
    [{ type: 'array', minItems: 1 }, [[null], [1, 'a']], [[]]],
    [{ type: 'array', items: { const: 0 }, minItems: 12 }, [Array(12).fill(0), Array(13).fill(0)], [Array(11).fill(0), []]],
    [{ minItems: 1 }, [[0]], [[]]],
  ],
  maxItems: [
    [{ type: 'array', items: int, maxItems: 2 }, [[], [1], [1, 2]], [[1, 2, 3]]],
    [{ type: 'array', maxItems: 0 }, [[]], [[1], [null]]],
    [{ type: 'array', items: text, minItems: 1, maxItems: 1 }, [['a']], [[], ['a', 'b']]],
    [{ type: 'array', items: { const: 1 }, maxItems: 20 }, [Array(20).fill(1), []], [Array(21).fill(1)]],
  ],
  uniqueItems: [
    [
      { type: 'array', uniqueItems: true, items: int },
      [[], [1], [1, 2]],
      [
        [1, 1],
        [2, 1, 2],
      ],
    ],
    [{ type: 'array', uniqueItems: false, items: int }, [[1, 1], []], [['a'], [null]]],
    [{ type: 'array', uniqueItems: true, maxItems: 1, items: text }, [[], ['a']], [['a', 'a'], [1]]],
  ],
  properties: [
    [{ type: 'object', properties: { a: int }, required: ['a'] }, [{ a: 1 }, { a: -2 }], [{}, { a: '1' }, { a: null }]],
    [{ type: 'object', properties: { a: int, b: text } }, [{}, { a: 1 }, { b: 'x' }, { a: 1, b: 'x' }], [{ a: 'x' }, { b: 1 }]],
    [{ type: 'object', properties: { 'a b"': { const: 1 } } }, [{ 'a b"': 1 }], [{ 'a b"': 2 }]],
    [{ properties: { a: { properties: { b: { type: 'null' } } } } }, [{ a: { b: null } }], [{ a: { b: 1 } }]],
  ],
  required: [
    [{ type: 'object', properties: { a: int, b: int }, required: ['b'] }, [{ b: 1 }, { a: 1, b: 2 }], [{}, { a: 1 }]],
    [{ type: 'object', required: ['x'] }, [{ x: 1 }, { x: null }], [{}, { y: 1 }]],
    [{ type: 'object', properties: { a: int }, required: [] }, [{}, { a: 1 }], [{ a: 'x' }]],
    [{ type: 'object', properties: { a: int, b: int }, required: ['a', 'b'] }, [{ a: 1, b: 2 }], [{ a: 1 }, { b: 1 }, {}]],
  ],
  additionalProperties: [
    [{ type: 'object', properties: { a: int }, additionalProperties: false }, [{}, { a: 1 }], [{ b: 1 }, { a: 1, b: 1 }]],
    [{ type: 'object', additionalProperties: int }, [{}, { x: 1 }, { x: 1, y: 2 }], [{ x: 'a' }, { x: 1, y: null }]],
    [
      { type: 'object', properties: { a: text }, additionalProperties: int },
      [{ a: 'x' }, { a: 'x', b: 1 }],
      [{ a: 1 }, { b: 'x' }],
    ],
    [{ type: 'object', additionalProperties: false }, [{}], [{ a: 1 }]],
  ],
  patternProperties: [
    [
      { type: 'object', patternProperties: { '^n': int }, additionalProperties: false },
      [{}, { n: 1 }, { n1: 1, n2: 2 }],
      [{ n: 'x' }, { m: 1 }],
    ],
    [
      { type: 'object', patternProperties: { '^a': int, b$: { minimum: 5 } }, additionalProperties: false },
      [{ a: 1 }, { ab: 7 }],
      [{ ab: 1 }, { a: 'x' }, { c: 1 }],
    ],
    [
      { type: 'object', properties: { ab: text }, patternProperties: { '^x': int } },
      [{ ab: 'y' }, { x: 1 }],
      [{ ab: 1 }, { x: 'y' }],
    ],
  ],
  propertyNames: [
    [
      { type: 'object', propertyNames: { pattern: '^[a-z]+$' }, additionalProperties: int },
      [{}, { ab: 1 }],
      [{ A: 1 }, { a1: 1 }],
    ],
    [
      { type: 'object', propertyNames: { enum: ['a', 'b'] }, additionalProperties: int },
      [{ a: 1 }, { b: 1 }],
      [{ c: 1 }, { a: 'x' }],
    ],
    [{ type: 'object', propertyNames: { maxLength: 2 }, additionalProperties: int }, [{ ab: 1 }, {}], [{ abc: 1 }]],
    [{ type: 'object', propertyNames: false }, [{}], [{ a: 1 }]],
  ],
  minProperties: [
    [{ type: 'object', additionalProperties: int, minProperties: 1 }, [{ a: 1 }, { a: 1, b: 2 }], [{}, { a: 'x' }]],
    [{ type: 'object', properties: { a: int, b: int }, minProperties: 1 }, [{ a: 1 }, { b: 1 }], [{}]],
    [{ type: 'object', additionalProperties: text, minProperties: 2 }, [{ a: 'x', b: 'y' }], [{}, { a: 'x' }]],
    [{ minProperties: 1 }, [{ a: null }], [{}]],
  ],
  maxProperties: [
    [{ type: 'object', additionalProperties: int, maxProperties: 1 }, [{}, { a: 1 }], [{ a: 1, b: 2 }]],
    [{ type: 'object', maxProperties: 0 }, [{}], [{ a: 1 }]],
    [{ type: 'object', properties: { a: int, b: int, c: int }, maxProperties: 2 }, [{}, { a: 1, c: 1 }], [{ a: 1, b: 1, c: 1 }]],
    [{ type: 'object', additionalProperties: int, minProperties: 1, maxProperties: 2 }, [{ a: 1 }, { a: 1, b: 1 }], [{}]],
  ],
  dependentRequired: [
    [
      { type: 'object', properties: { a: int, b: int }, dependentRequired: { a: ['b'] } },
      [{}, { b: 1 }, { a: 1, b: 1 }],
      [{ a: 1 }],
    ],
    [
      { type: 'object', properties: { a: int, b: int }, dependentRequired: { a: ['b'], b: ['a'] } },
      [{}, { a: 1, b: 1 }],
      [{ a: 1 }, { b: 1 }],
    ],
    [{ type: 'object', properties: { a: int, b: int }, dependencies: { a: ['b'] } }, [{}, { a: 1, b: 1 }], [{ a: 1 }]],
  ],
  dependentSchemas: [
    [
      { type: 'object', properties: { a: int, b: int }, dependentSchemas: { a: { required: ['b'] } } },
      [{}, { b: 1 }, { a: 1, b: 1 }],
      [{ a: 1 }],
    ],
    [
      { type: 'object', properties: { a: int, b: int }, dependentSchemas: { a: { properties: { b: { minimum: 5 } } } } },
      [{ a: 1, b: 5 }, { b: 1 }],
      [{ a: 1, b: 4 }],
    ],
    [
      { type: 'object', properties: { a: int, b: int }, dependencies: { b: { required: ['a'] } } },
      [{ a: 1 }, { a: 1, b: 1 }],
      [{ b: 1 }],
    ],
  ],
}
