import { afterAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../contract/request.ts'
import { gbnfKeyword } from '../grammar/rules/gbnf-text.ts'
import { OutputValidator } from './output-validator.ts'

const validator = new OutputValidator({ timeoutMs: 10_000 })
const hasty = new OutputValidator({ timeoutMs: 300 })
afterAll(() => Promise.all([validator.close(), hasty.close()]))

/** Would take a backtracking matcher years. */
const endless = { type: 'string', pattern: '^(?:(a+)+\\b)+$' }
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
    [{ id: 'item', type: 'object', properties: { id: { id: '#id', type: 'integer' } } }, '{"id":"1"}', /^\/id must be integer/],
    [{ id: 'http://example.com/a', properties: { id: { type: 'integer' } } }, '{"id":1}', undefined],
    [{ $id: 'http://example.com/a', $ref: '#/$defs/a', $defs: { a: { id: 'a', type: 'integer' } } }, '"1"', /must be integer/],
    [{ $ref: '#a', $defs: { a: { $id: '#a', type: 'integer' } } }, '"1"', /must be integer/],
    [{ items: [{ type: 'integer' }], additionalItems: false }, '[1,2]', /more than 1 item/],
    [{ items: [{ type: 'integer' }] }, '[1,"2"]', undefined],
    [{ maximum: 3, exclusiveMaximum: true }, '3', /must be < 3/],
    [{ maximum: 3, exclusiveMaximum: false }, '3', undefined],
    [{ enum: [{ id: 1 }] }, '{"id":1}', undefined],
    [{ properties: { items: { const: { items: [] } } } }, '{"items":{"items":[]}}', undefined],
    [{ pattern: '^(a+)+$' }, JSON.stringify(`${'a'.repeat(40)}b`), /must match pattern/],
    [{ patternProperties: { '^(a|a)*$': { type: 'integer' } } }, `{"${'a'.repeat(60)}b":1,"aa":"1"}`, /^\/aa must be integer/],
    [{ pattern: '^(a)\\1$' }, '"aa"', undefined],
    [{ pattern: '^a\\-b$' }, '"a-b"', undefined],
    [{ [gbnfKeyword]: 'root ::= "a"+' }, '"aa"', undefined],
    [{ properties: { a: { [gbnfKeyword]: 'root ::= "a"+' } } }, '{"a":"ab"}', /^\/a is not a text that the grammar allows/],
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
    { [gbnfKeyword]: 'root ::= nothing' },
  ])('%j is not a schema to check by', async (schema) => {
    expect(await validator.canCheck(schema)).toBe(false)
  })

  test('a pattern that backtracks without end hits the deadline', async () => {
    expect(await hasty.check(endless, endlessText)).toMatch(/within 300 ms/)
  })
})
