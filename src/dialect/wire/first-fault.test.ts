import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { dictionary, jsonObject, list, looseObject } from './first-fault.ts'

const many = 100

/** A number schema that counts its checks. */
function counted() {
  const seen = { count: 0 }
  const schema = z.unknown().refine((value) => {
    seen.count += 1
    return typeof value === 'number'
  })
  return { seen, schema }
}

test('a list is checked up to its first bad element, which is the only issue', () => {
  const { seen, schema } = counted()
  const parsed = list(schema).safeParse([1, ...Array(many).fill('x')])
  expect(parsed.error?.issues.map(({ path }) => path)).toEqual([[1]])
  expect(seen.count).toBe(2)
})

test('a dictionary is checked up to its first bad value, which is the only issue', () => {
  const { seen, schema } = counted()
  const entries = Array.from({ length: many }, (_, index) => [`key${index}`, index === 0 ? 1 : 'x'])
  const parsed = dictionary(z.string(), schema).safeParse(Object.fromEntries(entries))
  expect(parsed.error?.issues.map(({ path }) => path)).toEqual([['key1']])
  // The bad one twice: Zod describes it.
  expect(seen.count).toBe(3)
})

test('a dictionary reports only its first bad key', () => {
  const entries = Array.from({ length: many }, (_, index) => [`key${index}`, 1])
  const parsed = dictionary(z.string().regex(/^\d+$/), z.number()).safeParse(Object.fromEntries(entries))
  expect(parsed.error?.issues).toMatchObject([{ code: 'invalid_key', path: ['key0'] }])
})

// As in the schemas of bodies, where Zod may run a schema in another way than at the root.
test('inside objects, unions and optional fields, checks stop at the first fault too', () => {
  const { seen, schema } = counted()
  const body = z.looseObject({
    items: list(list(schema).min(1)).nullish(),
    either: z.union([z.string(), list(schema)]).nullish(),
    fields: dictionary(z.string(), list(schema)).nullish(),
  })
  const bad = Array(many).fill('x')
  const parsed = body.safeParse({ items: Array(many).fill(bad), either: bad, fields: { a: bad, b: bad } })
  expect(parsed.error?.issues.map(({ path }) => path)).toEqual([
    ['items', 0, 0],
    ['either', 0],
    ['fields', 'a', 0],
  ])
  expect(seen.count).toBe(4)
})

const element = z.looseObject({ id: z.string().trim() })
const [ownList, zodList] = [list(element, { error: 'a list' }).min(1).max(2), z.array(element, { error: 'a list' }).min(1).max(2)]
const [ownDictionary, zodDictionary] = [dictionary(z.string(), element), z.record(z.string(), element)]

test.each<[unknown]>([
  [[{ id: ' a ' }]],
  [[{ id: 'a', more: 1 }, { id: 'b' }]],
  [[]],
  [[{ id: 'a' }, { id: 'b' }, { id: 'c' }]],
  [[{}]],
  [{ key: { id: ' a ' } }],
  [{ key: { id: 1 } }],
  [{}],
  [JSON.parse('{"__proto__":{"id":"a"}}')],
  ['text'],
  [null],
  [undefined],
])('%j is otherwise accepted and refused as by Zod', (value) => {
  expect(ownList.safeParse(value)).toEqual(zodList.safeParse(value))
  // Other lists are refused.
  if (!isDeepStrictEqual(value, [])) expect(ownDictionary.safeParse(value)).toEqual(zodDictionary.safeParse(value))
})

test('an empty list, as PHP writes one, is an empty dictionary', () => {
  expect(ownDictionary.parse([])).toEqual({})
})

describe('limits', () => {
  const max = { count: 3, error: 'at most 3' }

  test('a list that is too long is not checked beyond its first element', () => {
    const { seen, schema } = counted()
    const parsed = list(schema, { max }).safeParse(Array(many).fill(1))
    expect(parsed.error?.issues).toMatchObject([{ code: 'too_big', message: 'at most 3', path: [] }])
    expect(seen.count).toBe(1)
  })

  test('in a union, the list with such elements reports the limit', () => {
    const either = z.union([list(z.string(), { max }), list(z.number(), { max })])
    expect(either.safeParse([1, 2, 3, 4]).error?.issues).toMatchObject([{ code: 'too_big' }])
  })

  test('a dictionary that is too large is not checked', () => {
    const { seen, schema } = counted()
    const parsed = dictionary(z.string(), schema, { max }).safeParse({ a: 1, b: 1, c: 1, d: 1 })
    expect(parsed.error?.issues).toMatchObject([{ code: 'too_big', message: 'at most 3' }])
    expect(seen.count).toBe(0)
  })

  test('elements that pass the quick test are not checked one by one', () => {
    const { seen, schema } = counted()
    const numbers = list(schema, { accepts: (value) => typeof value === 'number' })
    expect(numbers.parse([1, 2])).toEqual([1, 2])
    expect(seen.count).toBe(0)
    expect(numbers.safeParse([1, 'x']).error?.issues).toMatchObject([{ path: [1] }])
  })

  test('an object of a protocol has at most 256 fields', () => {
    const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, 1]))
    const schema = looseObject({ field0: z.number() })
    expect(schema.parse(fields(256))).toEqual(fields(256))
    expect(schema.safeParse(fields(257)).error?.issues).toMatchObject([{ message: 'an object of at most 256 fields', path: [] }])
    expect(schema.safeParse([1]).error?.issues).toEqual(z.looseObject({ field0: z.number() }).safeParse([1]).error?.issues)
  })

  test('an object with arbitrary keys is taken as it is', () => {
    const value = { a: { b: 1 } }
    expect(jsonObject.parse(value)).toBe(value)
    expect(jsonObject.safeParse([1]).error?.issues).toEqual(z.record(z.string(), z.unknown()).safeParse([1]).error?.issues)
  })
})
