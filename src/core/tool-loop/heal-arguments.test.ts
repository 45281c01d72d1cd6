import { describe, expect, test } from 'vitest'
import { callKey, readArguments } from './heal-arguments.ts'

const schema = {
  type: 'object',
  properties: {
    code: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    deep: { type: 'boolean' },
    list: { type: 'array' },
    options: { type: 'object', properties: { size: { type: 'integer' } } },
    either: { type: ['integer', 'null'] },
    anything: {},
  },
}
const tool = { parameters: schema, textParameter: 'code' }

describe('arguments with healing', () => {
  test.each([
    ['{"code":"1"}', { code: '1' }],
    ['', {}],
    ['  ', {}],
    ['null', {}],
    ['print(1)', { code: 'print(1)' }],
    ['"print(1)"', { code: 'print(1)' }],
    ['[1]', { code: '[1]' }],
    ['7', { code: '7' }],
    ['{"code": "unfinished', { code: '{"code": "unfinished' }],
    ['{"code":7}', { code: '7' }],
    ['{"code":true}', { code: 'true' }],
    ['{"count":"3"}', { count: 3 }],
    ['{"count":"3.5"}', { count: '3.5' }],
    ['{"count":"three"}', { count: 'three' }],
    ['{"ratio":"3"}', { ratio: 3 }],
    ['{"ratio":3}', { ratio: 3 }],
    ['{"ratio":"0.5"}', { ratio: 0.5 }],
    ['{"deep":"true"}', { deep: true }],
    ['{"deep":"False"}', { deep: false }],
    ['{"deep":"yes"}', { deep: 'yes' }],
    ['{"list":"[1, 2]"}', { list: [1, 2] }],
    ['{"options":"{\\"size\\":1}"}', { options: { size: 1 } }],
    ['{"options":{"size":"4"}}', { options: { size: 4 } }],
    ['{"either":null}', { either: null }],
    ['{"either":"5"}', { either: 5 }],
    ['{"anything":"5","more":"6"}', { anything: '5', more: '6' }],
  ])('the arguments %j are healed to %j', (input, expected) => {
    expect(readArguments(input, tool, true)).toEqual(expected)
  })

  test('a text becomes the only text that the schema requires, and else the query', () => {
    const one = { parameters: { properties: { path: { type: 'string' }, n: { type: 'integer' } }, required: ['path', 'n'] } }
    expect(readArguments('a/b', one, true)).toEqual({ path: 'a/b' })
    expect(readArguments('a/b', { parameters: {} }, true)).toEqual({ query: 'a/b' })
  })

  test('members that have the names of built-in ones are members like others', () => {
    expect(readArguments('{"constructor":"5"}', tool, true)).toEqual({ constructor: '5' })
  })
})

describe('arguments without healing', () => {
  test.each([
    ['{"count":"3"}', { count: '3' }],
    ['print(1)', { raw: 'print(1)' }],
    ['"text"', { raw: 'text' }],
    ['null', {}],
  ])('the arguments %j become %j', (input, expected) => {
    expect(readArguments(input, tool, false)).toEqual(expected)
  })
})

test('calls are the same when their arguments are, in any order', () => {
  expect(callKey('f', { a: 1, b: { c: [1], d: 2 } })).toBe(callKey('f', { b: { d: 2, c: [1] }, a: 1 }))
  expect(callKey('f', { a: 1 })).not.toBe(callKey('g', { a: 1 }))
  expect(callKey('f', { a: '1' })).not.toBe(callKey('f', { a: 1 }))
  expect(callKey('f', { a: [['b', 1]] })).not.toBe(callKey('f', { a: { b: 1 } }))
  expect(callKey('f', {})).not.toBe(callKey('f', { a: {} }))
})
