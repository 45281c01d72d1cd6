import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { indexFields } from './field-table.ts'
import { dictionary, jsonObject, list, looseObject, openObject } from './first-fault.ts'
import { unknownKeys } from './unknown-keys.ts'

const leaf = looseObject({ known: z.number().nullish() })
const say = looseObject({ type: z.literal('say'), words: z.string() }, { also: ['mood'] })
const show = looseObject({ type: z.enum(['show', 'hide']), leaf: leaf.nullish() })
const other = openObject({ type: z.string() })
const tree = looseObject({
  leaf: leaf.nullish(),
  leaves: list(leaf).min(1).nullish(),
  grid: list(list(leaf)).nullish(),
  byName: dictionary(z.string(), leaf).nullish(),
  either: z.union([z.string(), leaf, list(leaf)]).nullish(),
  steps: list(z.union([z.discriminatedUnion('type', [say, show]), other])).nullish(),
  changed: looseObject({ known: z.number() })
    .transform((value) => value.known)
    .nullish(),
  open: openObject({ leaf }).nullish(),
  free: jsonObject.nullish(),
  some: looseObject({ on: z.boolean(), leaf }, { reports: ({ on }) => on === true }).nullish(),
})
const unknownIn = unknownKeys(tree)
const x = { x: 1 }

describe('a key that the schema lacks is named', () => {
  test.each<[object, string[]]>([
    [{ leaf: x }, ['leaf.x']],
    [{ leaves: [{ known: 1 }, x, x] }, ['leaves[].x']],
    [{ grid: [[], [x]] }, ['grid[][].x']],
    [{ byName: { a: x, b: x } }, ['byName.*.x']],
    [{ either: x }, ['either.x']],
    [{ either: [x] }, ['either[].x']],
    [{ steps: [{ type: 'say', words: '', leaf: x }] }, ['steps[].leaf']],
    [{ steps: [{ type: 'hide', words: '', leaf: x }] }, ['steps[].words', 'steps[].leaf.x']],
    [{ changed: x }, ['changed.x']],
    [{ some: { on: true, leaf: x, y: 1 } }, ['some.leaf.x', 'some.y']],
    [{ leaf: { toString: 1 } }, ['leaf.toString']],
  ])('%j: %j', (body, names) => {
    expect(unknownIn(body)).toEqual(names)
  })
})

describe('nothing is named', () => {
  test.each([
    {},
    { x: 1 },
    { leaf: { known: 1, x: null } },
    { leaf: null, either: 'a', leaves: null },
    { steps: [{ type: 'say', words: '', mood: 1 }] },
    { steps: [{ type: 'new', x: 1 }] },
    { open: { leaf: x, y: 1 } },
    { free: { a: { b: 1 } } },
    { some: { on: false, leaf: x } },
  ])('in %j', (body) => {
    expect(unknownIn(body)).toEqual([])
  })
})

test('a key that the table refuses is refused at its place in the outermost list', () => {
  const refused = indexFields([{ name: 'grid[][].x', treatment: 'refused', note: 'no x' }])
  expect(() => unknownKeys(tree, refused)({ grid: [[], [x]] })).toThrow(
    new AppError('unsupported-field', 'grid[1][].x 1 is not supported (no x): leave it out', { param: 'grid[1][].x' }),
  )
})

test('at most 1,000 names are collected', () => {
  const leaves = Array.from({ length: 2000 }, (_, index) => ({ [`k${index}`]: 1 }))
  expect(unknownIn({ leaves })).toHaveLength(1000)
})

test('a union of objects needs a tag', () => {
  const read = unknownKeys(looseObject({ a: z.union([leaf, looseObject({ b: z.number() })]) }))
  expect(() => read({})).toThrow('a: two objects that no tag tells apart')
})
