import { expect, test } from 'vitest'
import type { z } from 'zod'
import { chatRequestSchema } from './schema.ts'

const hi = { role: 'user', content: 'hi' }

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
  [{ stop: Array.from({ length: 2000 }, () => '') }],
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
