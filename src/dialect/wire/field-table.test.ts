import { describe, expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { checkFields, type Field, indexFields } from './field-table.ts'

const fields: readonly Field[] = [
  { name: 'seed', treatment: 'used', note: 'any integer' },
  { name: 'n', aliases: ['count'], treatment: 'refused', accepts: [1, { type: 'one' }], note: 'one choice' },
  { name: 'audio', treatment: 'refused', note: 'no speech' },
]

describe('checkFields', () => {
  test.each([
    {},
    { seed: 1 },
    { n: 1 },
    { n: null },
    { count: 1 },
    { n: { type: 'one', schema: null } },
    { audio: null },
    { other: 1 },
  ])('%j passes', (body) => {
    expect(() => checkFields(indexFields(fields), body)).not.toThrow()
  })

  test.each<[object, string, string]>([
    [{ n: 2 }, 'n', 'n 2 is not supported (one choice): leave it out or send 1 or {"type":"one"}'],
    [{ count: '1' }, 'count', 'count "1" is not supported (one choice): leave it out or send 1 or {"type":"one"}'],
    [{ audio: {} }, 'audio', 'audio {} is not supported (no speech): leave it out'],
  ])('%j is refused by its own spelling', (body, param, message) => {
    expect(() => checkFields(indexFields(fields), body)).toThrow(new AppError('unsupported-field', message, { param }))
  })
})

test('a key is ignored when no row spells it', () => {
  expect(checkFields(indexFields(fields), { seed: 1, count: 1, top_q: 1, absent: null, constructor: 1 })).toEqual([
    'top_q',
    'constructor',
  ])
})
