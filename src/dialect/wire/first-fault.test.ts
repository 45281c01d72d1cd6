import { expect, test } from 'vitest'
import { z } from 'zod'
import { dictionary, list } from './first-fault.ts'

const many = 100

/** A number that counts how often it was looked at. */
function counted() {
  const seen = { count: 0 }
  const schema = z.unknown().refine((value) => {
    seen.count += 1
    return typeof value === 'number'
  })
  return { seen, schema }
}

test('a list is looked at up to its first bad element, whose issue is the only one', () => {
  const { seen, schema } = counted()
  const parsed = list(schema).safeParse([1, ...Array(many).fill('x')])
  expect(parsed.error?.issues.map(({ path }) => path)).toEqual([[1]])
  expect(seen.count).toBe(2)
})

test('a dictionary is looked at up to its first bad value, whose issue is the only one', () => {
  const { seen, schema } = counted()
  const entries = Array.from({ length: many }, (_, index) => [`key${index}`, index === 0 ? 1 : 'x'])
  const parsed = dictionary(z.string(), schema).safeParse(Object.fromEntries(entries))
  expect(parsed.error?.issues.map(({ path }) => path)).toEqual([['key1']])
  expect(seen.count).toBe(2)
})

test('a dictionary tells only its first bad key', () => {
  const entries = Array.from({ length: many }, (_, index) => [`key${index}`, 1])
  const parsed = dictionary(z.string().regex(/^\d+$/), z.number()).safeParse(Object.fromEntries(entries))
  expect(parsed.error?.issues).toMatchObject([{ code: 'invalid_key', path: ['key0'] }])
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
])('%j is otherwise accepted and refused as Zod does', (value) => {
  expect(ownList.safeParse(value)).toEqual(zodList.safeParse(value))
  expect(ownDictionary.safeParse(value)).toEqual(zodDictionary.safeParse(value))
})
