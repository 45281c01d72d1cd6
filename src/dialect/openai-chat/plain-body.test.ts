import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isPlainBody } from './plain-body.ts'
import { chatRequestSchema } from './schema.ts'

const message = fc.record({
  role: fc.constantFrom('user', 'assistant', 'system', 'developer', 'tool', 'function', 'nobody'),
  content: fc.oneof(fc.string(), fc.constantFrom(null, undefined, 1), fc.constant([{ type: 'text', text: 'a' }])),
})
const extra = fc.constantFrom(
  {},
  {},
  {},
  { stream: true },
  { stream: undefined },
  { stream: 'yes' },
  { temperature: 1 },
  { n: 0 },
  { odd: 1 },
)
const body = fc
  .tuple(fc.constantFrom('m', 'm', '', 1), fc.oneof(fc.array(message), fc.constant('no list')), extra)
  .map(([model, messages, more]) => ({ model, messages, ...more }))

describe('a plain body', () => {
  test.each([
    { model: 'm', messages: [{ role: 'user', content: 'a' }] },
    {
      model: 'm',
      stream: true,
      messages: [
        { role: 'system', content: '' },
        { role: 'assistant', content: 'a' },
      ],
    },
  ])('%j needs no schema', (plain) => {
    expect(isPlainBody(plain)).toBe(true)
  })

  test('is never one that the schema refuses or changes', () => {
    fc.assert(
      fc.property(fc.oneof(body, fc.anything()), (any) => {
        if (isPlainBody(any)) expect(chatRequestSchema.parse(any)).toEqual(any)
      }),
    )
  })
})
