import { expect, test } from 'vitest'
import type { Field } from '../../dialect/wire/field-table.ts'
import { withFields } from './request-schema.ts'

const field = (given: Partial<Field> & Pick<Field, 'name' | 'treatment'>) => ({ note: 'a note', ...given }) as Field

function propertyOf(one: Field): unknown {
  const { properties } = withFields({ properties: { typed: { type: 'string' } } }, { fields: [one] } as never)
  return (properties as Record<string, unknown>)[one.name]
}

test.each<[string, Field, object]>([
  ['keeps its type', field({ name: 'typed', treatment: 'used' }), { type: 'string', description: 'a note' }],
  [
    'that has no type may be anything',
    field({ name: 'free', treatment: 'informational' }),
    { description: 'changes nothing: a note' },
  ],
  [
    'that is refused may be what changes nothing',
    field({ name: 'off', treatment: 'refused', accepts: [false] }),
    { enum: [false, null], description: 'refused unless false: a note' },
  ],
  [
    'that is always refused may be null',
    field({ name: 'never', treatment: 'refused' }),
    { enum: [null], description: 'refused: a note' },
  ],
  [
    'that is refused for some values may be of any type',
    field({ name: 'some', treatment: 'refused', acceptsAlso: { what: 'an empty list', holds: () => true } as never }),
    { description: 'refused unless an empty list: a note' },
  ],
])('in the schema, a field %s', (_, one, expected) => {
  expect(propertyOf(one)).toEqual(expected)
})
