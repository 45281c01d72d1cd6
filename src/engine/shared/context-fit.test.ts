import { expect, test } from 'vitest'
import { checkContextFit } from './context-fit.ts'

test.each([
  { inputTokens: 90, outputTokens: 10 },
  { inputTokens: 99, outputTokens: undefined },
])('a request that fits exactly is let through: %o', ({ inputTokens, outputTokens }) => {
  expect(() => checkContextFit({ inputTokens, outputTokens, contextLength: 100 })).not.toThrow()
})

test.each([
  { inputTokens: 91, outputTokens: 10 },
  { inputTokens: 100, outputTokens: undefined },
  { inputTokens: 500, estimated: true, outputTokens: undefined },
])('one token too many is refused with every number: %o', (demand) => {
  const refusal = expect.objectContaining({
    code: 'context-length-exceeded',
    message: expect.stringMatching(new RegExp(`100 tokens.*${demand.inputTokens}`)),
    overflow: expect.objectContaining({ inputTokens: demand.inputTokens, contextLength: 100 }),
  })
  expect(() => checkContextFit({ ...demand, contextLength: 100 })).toThrow(refusal)
})
