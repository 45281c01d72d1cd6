import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { z } from 'zod'
import { outcomeOf } from '../../../test/support/outcome.ts'
import { plainCommonFields } from '../openai/plain-fields.ts'
import type { PlainCheck } from '../wire/fieldwise.ts'
import { validate } from '../wire/validate.ts'
import { chatFields } from './fields.ts'
import { arePlainMessages } from './plain-messages.ts'
import { chatRequestSchema } from './schema.ts'
import { validateChat } from './validate-chat.ts'

const plainChecks = { messages: arePlainMessages, ...plainCommonFields } as const satisfies Readonly<Record<string, PlainCheck>>
type PlainName = keyof typeof plainChecks
const plainNames = Object.keys(plainChecks) as PlainName[]
const hi = { role: 'user', content: 'hi' }

const roles = fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function', 'User', '', null)
const messageValue = fc.oneof({ weight: 3, arbitrary: fc.string() }, fc.constant(null), fc.jsonValue({ maxDepth: 2 }))
const messageKey = fc.constantFrom('name', 'refusal', 'tool_calls', 'tool_call_id', 'prefix', 'audio', '__proto__', 'more')
const message = fc.oneof(
  { weight: 4, arbitrary: fc.record({ role: roles, content: messageValue }) },
  { weight: 1, arbitrary: fc.record({ role: roles, content: messageValue }, { requiredKeys: [] }) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.dictionary(messageKey, messageValue), roles).map(([more, role]) => ({ ...hi, ...more, role })),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) },
)
/** How many faults a refusal describes, those of every branch of a union included. */
function countFaults(issues: readonly z.core.$ZodIssue[]): number {
  const counts = issues.map((issue) => {
    return issue.code === 'invalid_union' ? issue.errors.reduce((sum, branch) => sum + countFaults(branch), 0) : 1
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

const manyFaults: readonly unknown[] = Array(50).fill(false)
const manyKeys = Object.fromEntries(manyFaults.map((value, index) => [`key${index}`, value]))
test.each<[object]>([
  [{ messages: manyFaults }],
  [{ messages: [{ role: 'user', content: manyFaults }] }],
  [{ messages: [{ role: 'assistant', tool_calls: manyFaults }] }],
  [{ tools: manyFaults }],
  [{ functions: manyFaults }],
  [{ tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: manyFaults } } }],
  [{ stop: manyFaults }],
  [{ stop: manyFaults.map(() => '') }],
  [{ stop_sequence: manyFaults }],
  [{ logit_bias: manyKeys }],
  [{ metadata: manyKeys }],
  [{ banned_tokens: manyFaults }],
  [{ custom_token_bans: manyFaults.map(() => -1) }],
  [{ dry_sequence_breakers: manyFaults }],
  [{ guided_choice: manyFaults }],
  [{ structured_outputs: { choice: manyFaults } }],
])('of a body with many faults only a few are described', (fields) => {
  const parsed = chatRequestSchema.safeParse({ model: 'm', messages: [hi], ...fields })
  expect(countFaults(parsed.error?.issues ?? [])).toBeGreaterThan(0)
  expect(countFaults(parsed.error?.issues ?? [])).toBeLessThan(5)
})

/** What JSON can hold, most of it near the borders of what is allowed. */
const fieldValue = fc.oneof(
  fc.constantFrom(
    true,
    false,
    null,
    '',
    'a',
    0,
    -0,
    1,
    2,
    -1,
    -2,
    0.5,
    2.000001,
    -2.000001,
    128,
    129,
    1e308,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    2 ** 53 - 1,
  ),
  fc.double({ noNaN: true, min: -3, max: 3 }),
  fc.integer(),
  fc.string(),
  fc.array(fc.string({ maxLength: 2 }), { maxLength: 18 }),
  fc.array(message, { maxLength: 4 }),
  fc.jsonValue({ maxDepth: 2 }),
)

describe('what is plain', () => {
  test.each<[PlainName, unknown]>([
    ['model', 'm'],
    ['stream', true],
    ['stream', false],
    ['temperature', 0],
    ['temperature', 2],
    ['top_p', 0.5],
    ['presence_penalty', -2],
    ['frequency_penalty', 2],
    ['max_tokens', 1],
    ['max_completion_tokens', 4096],
    ['seed', -7],
    ['n', 1],
    ['stop', 'END'],
    ['user', ''],
    ['messages', [hi]],
    ['messages', ['system', 'developer', 'user', 'assistant'].map((role) => ({ role, content: '' }))],
  ])('%s is plain with %j', (name, value) => {
    expect(plainChecks[name](value)).toBe(true)
  })

  test.each<[PlainName, unknown]>([
    ['model', ''],
    ['model', null],
    ['stream', null],
    ['stream', 'true'],
    ['stream', 1],
    ['temperature', 3],
    ['temperature', -0.1],
    ['temperature', '1'],
    ['temperature', Number.NaN],
    ['temperature', JSON.parse('1e999')],
    ['top_p', 1.0001],
    ['presence_penalty', -2.1],
    ['frequency_penalty', 2.1],
    ['max_tokens', 0],
    ['max_tokens', 1.5],
    ['max_tokens', 2 ** 53],
    ['max_completion_tokens', JSON.parse('1e999')],
    ['seed', 1.5],
    ['seed', JSON.parse('-1e999')],
    ['n', 1.5],
    ['n', 0],
    ['n', '1'],
    ['stop', ''],
    ['user', null],
    ['messages', []],
    ['messages', null],
    ['messages', {}],
    ['messages', { length: 1, 0: hi }],
    ['messages', [null]],
    ['messages', [[]]],
    ['messages', ['hi']],
    ['messages', [hi, {}]],
    ['messages', [{ role: 'user' }]],
    ['messages', [{ content: 'hi' }]],
    ['messages', [{ role: 'user', content: null }]],
    ['messages', [{ role: 'user', content: [] }]],
    ['messages', [{ role: 'user', content: 5 }]],
    ['messages', [{ role: 'tool', content: 'hi' }]],
    ['messages', [{ role: 'function', content: 'hi' }]],
    ['messages', [{ role: 'User', content: 'hi' }]],
    ['messages', [{ ...hi, name: null }]],
    ['messages', [{ ...hi, more: 1 }]],
    ['messages', JSON.parse('[{"role":"user","content":"hi","__proto__":1}]')],
    ['messages', JSON.parse('[{"role":"user","__proto__":{"content":"hi"}}]')],
  ])('%s is not plain with %j', (name, value) => {
    expect(plainChecks[name](value)).toBe(false)
  })

  test.each(plainNames)('what is plain for %s is right by the schema, which leaves it as it is', (name) => {
    fc.assert(
      fc.property(name === 'messages' ? fc.array(message, { maxLength: 3 }) : fieldValue, (value) => {
        if (plainChecks[name](value))
          expect(chatRequestSchema.shape[name].safeParse(value)).toEqual({ success: true, data: value })
      }),
      { numRuns: 1000 },
    )
  })
})

describe('validateChat', () => {
  test.each<[object]>([
    [{}],
    [{ temperature: 0, tools: [], metadata: null, unknown: 1 }],
    [{ messages: [{ role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'b' }] }] }],
  ])('a right body with %j is not checked for the fields that it does not have', (fields) => {
    const wholeSchema = vi.spyOn(chatRequestSchema, 'safeParse')
    const body = { model: 'm', messages: [hi], ...fields }
    expect(validateChat(body)).toEqual(body)
    expect(wholeSchema).not.toHaveBeenCalled()
    expect(() => validateChat({ ...body, model: '' })).toThrow()
    expect(wholeSchema).toHaveBeenCalledOnce()
    wholeSchema.mockRestore()
  })

  test('it accepts and refuses what the schema does, with the same results and the same words', () => {
    const names = [...plainNames, ...chatFields.map(({ name }) => name), 'unknown', '__proto__', 'constructor']
    const more = fc.dictionary(fc.constantFrom(...names), fieldValue, { maxKeys: 5 })
    const base = fc.record({ model: fc.constant('m'), messages: fc.array(message, { maxLength: 4 }) }, { requiredKeys: [] })
    const body = fc.oneof(
      fc.tuple(base, more).map(([first, second]) => ({ ...first, ...second })),
      more.map((fields) => ({ ...fields, model: 'm', messages: [hi] })),
      fc.jsonValue({ maxDepth: 2 }),
    )
    fc.assert(
      fc.property(body, (sent) => {
        expect(outcomeOf(() => validateChat(sent))).toEqual(outcomeOf(() => validate(chatRequestSchema, sent)))
      }),
      { numRuns: 3000 },
    )
  }, 60_000)
})
