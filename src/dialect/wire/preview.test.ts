import { expect, test } from 'vitest'
import { preview } from './preview.ts'

test.each<[unknown, string]>([
  [5, '5'],
  [null, 'null'],
  [true, 'true'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  ['a"b\n', '"a\\"b\\n"'],
  [[], '[]'],
  [{}, '{}'],
  [[1, ['a'], { b: null }], '[1,["a"],{"b":null}]'],
  [{ 'a b': { c: { d: { e: 1 } } } }, '{"a b":{"c":{"d":{…}}}}'],
  [[1, 2, 3, 4, 5, 6, 7, 8, 9], '[1,2,3,4,5,6,7,8,…]'],
])('%j is shown as %s', (value, text) => {
  expect(preview(value)).toBe(text)
})

test('a preview has at most 80 characters', () => {
  expect(preview('x'.repeat(1000))).toHaveLength(80)
  expect(preview(Array.from({ length: 100 }, () => 'word'.repeat(9)))).toHaveLength(80)
})

test('nesting of any depth is shown without a stack overflow', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
  expect(preview(deep)).toBe('[[[[…]]]]')
})
