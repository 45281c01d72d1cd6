import { z } from 'zod'
import type { TimeLimits } from '../../contract/served-model.ts'

/** The longest delay of a timer. */
const longestMs = 2_147_483_647

const limit = (description: string) =>
  z
    .union([z.int().min(1).max(longestMs), z.literal('none')])
    .exactOptional()
    .describe(description)

const fields = {
  queueMs: limit('How long a request may wait for a slot; then it gets 503. Default: 600000 (10 minutes).'),
  firstTokenMs: limit(
    'How long the model may take to begin its answer once the request has a slot; then it gets 504. Default: 1200000 (20 minutes).',
  ),
  stallMs: limit('How long the model may generate nothing in the middle of its answer; then it gets 504. Default: 120000.'),
  generationMs: limit(
    'How long the model may generate, from its first token on; then the answer so far is the reply, with finish reason `length`. ' +
      'Default: 3600000 (60 minutes).',
  ),
}

export const limits = z
  .strictObject(fields)
  .describe('How long the steps of a request may take, in milliseconds; `none`: no limit.')

export const modelLimits = z
  .strictObject(fields)
  .describe('How long the steps of a request to this model may take, in milliseconds; absent: as `limits` of the file says.')

type Limits = z.output<typeof limits>

const defaults = { queueMs: 600_000, firstTokenMs: 1_200_000, stallMs: 120_000, generationMs: 3_600_000 }

/** The limits of a model: its own, or otherwise those for all models. */
export function limitsOf(all: Limits, own: Limits = {}): TimeLimits {
  const merged = Object.entries({ ...defaults, ...all, ...own })
  return Object.fromEntries(merged.filter(([, value]) => value !== 'none'))
}
