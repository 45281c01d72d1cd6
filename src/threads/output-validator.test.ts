import { afterAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../contract/request.ts'
import { OutputValidator } from './output-validator.ts'

const validator = new OutputValidator({ timeoutMs: 300 })
afterAll(() => validator.close())

/** Would take a backtracking matcher years. */
const endless = { type: 'string', pattern: '^(a+)+$' }
const endlessText = JSON.stringify(`${'a'.repeat(40)}b`)

describe('OutputValidator', () => {
  test.each<[JsonObject | boolean, string, RegExp | undefined]>([
    [{ type: 'array', uniqueItems: true }, '[1,2]', undefined],
    [{ type: 'array', uniqueItems: true }, '[1,1]', /duplicate/],
    [{ properties: { a: { type: 'integer' } } }, '{"a":"1"}', /^\/a must be integer/],
    [{ type: 'string', format: 'date' }, '"2024-02-30"', /format "date"/],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }, '[1]', /must be string/],
    [{ type: 'object' }, '{"a":', /not JSON/],
    [{ type: 'object' }, '', /not JSON/],
    [true, '1', undefined],
    [false, '1', /false/],
  ])('%j judges %s', async (schema, text, problem) => {
    expect(await validator.canCheck(schema)).toBe(true)
    const verdict = await validator.check(schema, text)
    if (problem === undefined) expect(verdict).toBeUndefined()
    else expect(verdict).toMatch(problem)
  })

  test.each([
    { $ref: 'https://example.com/elsewhere.json' },
    { type: 'nothing' },
    { $async: true, type: 'object' },
    { $dynamicRef: '#a' },
    { pattern: '(' },
  ])('%j is no schema to check by', async (schema) => {
    expect(await validator.canCheck(schema)).toBe(false)
  })

  test('a pattern that backtracks without end hits the deadline, and the next request is answered', async () => {
    const [slow, next] = await Promise.all([validator.check(endless, endlessText), validator.check({ type: 'integer' }, '1')])
    expect(slow).toMatch(/within 300 ms/)
    expect(next).toBeUndefined()
  })
})
