import { expect, test } from 'vitest'
import { z } from 'zod'
import { dictionary, list } from './first-fault.ts'

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
  expect(seen.count).toBe(2)
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
  expect(seen.count).toBe(3)
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
  expect(ownDictionary.safeParse(value)).toEqual(zodDictionary.safeParse(value))
})
