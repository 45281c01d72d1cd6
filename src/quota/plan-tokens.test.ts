import { expect, test } from 'vitest'
import { planTokens } from './plan-tokens.ts'

const none = { limit: 100, used: 0, inputTokens: 10, outputTokens: 20, isStretched: false }

test.each([
  ['all that it may use, where that is left', none, { tokens: 30, isStretched: false }],
  ['… to the last token', { ...none, used: 70 }, { tokens: 30, isStretched: false }],
  ['what is left, where its prompt fits', { ...none, used: 80 }, { tokens: 20, isStretched: true }],
  ['the whole limit, where it asks for more', { ...none, outputTokens: 32_000 }, { tokens: 100, isStretched: true }],
  ['nothing, where its prompt does not fit', { ...none, used: 91 }, 'later'],
  ['nothing, where nothing is left', { ...none, used: 100, inputTokens: 0 }, 'later'],
  ['nothing, after the limit was exceeded', { ...none, used: 130, inputTokens: 0 }, 'later'],
  ['nothing, while another one runs on what was left', { ...none, used: 80, isStretched: true }, 'later'],
  [
    'all, also while another one runs on what was left',
    { ...none, used: 20, isStretched: true },
    { tokens: 30, isStretched: false },
  ],
  ['nothing, ever, where its prompt alone is larger than the limit', { ...none, inputTokens: 101 }, 'never'],
])('a request reserves %s', (_, plan, reserved) => {
  expect(planTokens(plan)).toEqual(reserved)
})
