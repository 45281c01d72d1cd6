import { expect, test } from 'vitest'
import { isObject, parseJson, parseObject } from './json.ts'

test('an object has members: null, arrays and what is not JSON are none', () => {
  expect([{}, { a: 1 }, null, [], 'a', undefined].map(isObject)).toEqual([true, true, false, false, false, false])
  expect(['{"a":1}', 'null', '[1]', '{"a":', ''].map(parseObject)).toEqual([{ a: 1 }, undefined, undefined, undefined, undefined])
})

test('a text that is not JSON has no value', () => {
  expect(['null', ' [1] ', '"a"', 'a', '{"a":1'].map(parseJson)).toEqual([null, [1], 'a', undefined, undefined])
})
