import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { formatPath, validate } from './validate.ts'

const part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), size: z.enum(['low', 'high']) }),
])
const schema = z.looseObject({
  content: z.union([z.string(), z.array(part)]).nullish(),
  ratio: z.number().min(0).max(1).nullish(),
  count: z.int().nullish(),
  weight: z.number().gt(0).lt(9).nullish(),
  flag: z.boolean().nullish(),
  bias: z.record(z.string().regex(/^\d+$/, { error: 'digits' }), z.number()).nullish(),
  mode: z.union([z.enum(['auto', 'none']), z.looseObject({ name: z.string() })]).nullish(),
  ids: z.union([z.array(z.string()), z.array(z.int()), z.array(z.array(z.int()))]).nullish(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(2)]).nullish(),
  wait: z.union([z.number(), z.literal('5m'), z.array(z.number())], { error: 'seconds, or "5m"' }).nullish(),
})

function faultOf(body: unknown): { message: string; param: string | undefined } {
  try {
    validate(schema, body)
  } catch (error) {
    if (error instanceof AppError) return { message: error.message, param: error.param }
    throw error
  }
  throw new Error('the body was accepted')
}

describe('validate', () => {
  test('a right body is returned, with the keys that the schema does not know', () => {
    expect(validate(schema, { content: 'a', other: 1 })).toEqual({ content: 'a', other: 1 })
  })

  test.each<[unknown, string | undefined, string]>([
    [5, undefined, 'the request body: expected an object, got 5'],
    [[], undefined, 'the request body: expected an object, got []'],
    [{ content: 5 }, 'content', 'content: expected a string or an array, got 5'],
    [{ content: [{ type: 'text', text: 5 }] }, 'content[0].text', 'content[0].text: expected a string, got 5'],
    [{ content: [{ type: 'text' }] }, 'content[0].text', 'content[0].text is missing: expected a string'],
    [{ content: [{ type: 'x' }] }, 'content[0].type', 'content[0].type: expected one of "text", "image", got "x"'],
    [{ content: [{}] }, 'content[0].type', 'content[0].type is missing: expected one of "text", "image"'],
    [{ content: ['a'] }, 'content[0]', 'content[0]: expected an object, got "a"'],
    [
      { content: [{ type: 'image', size: 'mid' }] },
      'content[0].size',
      'content[0].size: expected one of "low", "high", got "mid"',
    ],
    [{ ratio: 2 }, 'ratio', 'ratio: expected at most 1, got 2'],
    [{ ratio: '1' }, 'ratio', 'ratio: expected a number, got "1"'],
    [{ ratio: Number.POSITIVE_INFINITY }, 'ratio', 'ratio: expected a number, got Infinity'],
    [{ weight: 0 }, 'weight', 'weight: expected above 0, got 0'],
    [{ weight: 9 }, 'weight', 'weight: expected below 9, got 9'],
    [{ count: 1.5 }, 'count', 'count: expected an integer, got 1.5'],
    [{ flag: 'yes' }, 'flag', 'flag: expected true or false, got "yes"'],
    [{ bias: { a: 1 } }, 'bias.a', 'bias.a: expected digits, got the key "a"'],
    [{ bias: { 'a b': 1 } }, 'bias["a b"]', 'bias["a b"]: expected digits, got the key "a b"'],
    [{ bias: { 7: null } }, 'bias.7', 'bias.7: expected a number, got null'],
    [{ mode: 'all' }, 'mode', 'mode: expected one of "auto", "none", got "all"'],
    [{ mode: {} }, 'mode.name', 'mode.name is missing: expected a string'],
    [{ ids: ['a', 1] }, 'ids[1]', 'ids[1]: expected a string, got 1'],
    [{ ids: [[1], [1, 'a']] }, 'ids[1][1]', 'ids[1][1]: expected a number, got "a"'],
    [{ stop: '' }, 'stop', 'stop: expected a non-empty string, got ""'],
    [{ stop: ['a', ''] }, 'stop[1]', 'stop[1]: expected a non-empty string, got ""'],
    [{ stop: ['a', 'b', 'c'] }, 'stop', 'stop: expected at most 2 items, got ["a","b","c"]'],
    [{ wait: 'soon' }, 'wait', 'wait: expected seconds, or "5m", got "soon"'],
    [{ wait: ['a'] }, 'wait[0]', 'wait[0]: expected a number, got "a"'],
  ])('%j is refused with its path and both values', (body, param, message) => {
    expect(faultOf(body)).toEqual({ message, param })
  })
})

/** One for each kind of issue that Zod has. */
test.each<[z.ZodType, unknown, string]>([
  [z.null(), 1, 'null'],
  [z.undefined(), 1, 'nothing'],
  [z.never(), 1, 'nothing'],
  [z.tuple([z.string()]), 1, 'an array'],
  [z.file(), 1, 'a file'],
  [z.bigint(), 1, 'bigint'],
  [z.literal('a'), 'b', '"a"'],
  [z.string().min(2), 'a', 'at least 2 characters'],
  [z.string().max(2), 'abc', 'at most 2 characters'],
  [z.number().multipleOf(4), 3, 'a multiple of 4'],
  [z.string().regex(/^a/), 'b', 'a string like /^a/'],
  [z.string().startsWith('a'), 'b', 'a string that begins with "a"'],
  [z.string().endsWith('a'), 'b', 'a string that ends with "a"'],
  [z.string().includes('a'), 'b', 'a string with "a"'],
  [z.url(), 'b', 'a URL'],
  [z.uuid(), 'b', 'a UUID'],
  [z.email(), 'b', 'an email address'],
  [z.base64(), '!', 'base64'],
  [z.iso.date(), 'b', 'a date such as "2026-01-31"'],
  [z.iso.datetime(), 'b', 'a time such as "2026-01-31T12:00:00Z"'],
  [z.strictObject({}), { b: 1 }, 'an object without "b"'],
  [z.string().refine(() => false), 'b', 'another value'],
  [z.union([z.string().refine(() => false), z.never()]), 'b', 'another value'],
])('what %# expects is said without the words of Zod', (kind, value, expected) => {
  const one = z.looseObject({ field: kind })
  expect(() => validate(one, { field: value })).toThrow(new RegExp(`^field(\\S*)?: expected ${escapeRegExp(expected)}, got `))
})

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

test('a path is written as clients write it', () => {
  expect(formatPath(['messages', 0, 'content', 1, 'text'])).toBe('messages[0].content[1].text')
})

test('a path stays short, however long the names of the body are', () => {
  const { message, param } = faultOf({ bias: { ['a'.repeat(1_000_000)]: 1 } })
  expect(param).toMatch(/^bias\["a{70,}…\]$/)
  expect(message.length).toBeLessThan(300)
})
