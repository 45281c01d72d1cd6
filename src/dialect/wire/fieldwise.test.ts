import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { outcomeOf } from '../../../test/support/outcome.ts'
import { createFieldwise } from './fieldwise.ts'
import { validate } from './validate.ts'

const schema = z.looseObject({
  id: z.string().min(1),
  count: z.int().nullish(),
  inner: z.looseObject({ name: z.string() }).nullish(),
  anything: z.unknown(),
  trimmed: z.string().trim().nullish(),
})
const check = createFieldwise(schema, { id: (value) => typeof value === 'string' && value !== '' })

describe('createFieldwise', () => {
  test.each<[unknown]>([
    [{ id: 'a' }],
    [{ id: 'a', anything: 1 }],
    [{ id: '', anything: 1 }],
    [{ anything: 1 }],
    [{ id: undefined, anything: undefined }],
    [{ id: 'a', anything: 1, count: null }],
    [{ id: 'a', anything: 1, count: 1.5 }],
    [{ id: 'a', anything: 1, count: 'x', inner: {} }],
    [{ id: 'a', anything: 1, inner: { name: 5 } }],
    [{ id: 'a', anything: 1, inner: { name: 'b', more: [1] } }],
    [{ id: 'a', anything: 1, trimmed: ' b ', unknown: { deep: [] } }],
    [{ id: 'a', anything: 1, constructor: 1, toString: 'x' }],
    [JSON.parse('{"id":"a","anything":1,"__proto__":{"polluted":1}}')],
    [JSON.parse('{"anything":1,"__proto__":{"id":"a"}}')],
    [JSON.parse('{"id":"a","anything":1,"inner":{"name":"b","__proto__":{"polluted":1}}}')],
    [[]],
    [null],
    [5],
    ['a'],
    [undefined],
  ])('%j is accepted or refused as the schema as a whole does', (body) => {
    const outcome = outcomeOf(() => check(body))
    expect(outcome).toEqual(outcomeOf(() => validate(schema, body)))
    expect(Object.hasOwn((outcome as { passed?: object }).passed ?? {}, '__proto__')).toBe(false)
  })

  test('the body that was sent stays as it is', () => {
    const body = { id: 'a', anything: 1, trimmed: ' b ' }
    expect(check(body)).toEqual({ id: 'a', anything: 1, trimmed: 'b' })
    expect(body.trimmed).toBe(' b ')
  })

  test('the schema is not asked about a value that is plain, and is about every other one', () => {
    const asked: unknown[] = []
    const watched = z.looseObject({ id: z.string().refine((value) => asked.push(value)) })
    const checkId = createFieldwise(watched, { id: (value) => value === 'plain' })
    asked.length = 0
    checkId({ id: 'plain' })
    checkId({ id: 'other' })
    expect(asked).toEqual(['other'])
  })

  test('a schema with a rule about the whole body is a mistake of ours', () => {
    expect(() => createFieldwise(z.looseObject({}).refine(() => true) as typeof schema, {})).toThrow(/whole body/)
  })
})
