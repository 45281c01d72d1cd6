import { expect, test } from 'vitest'
import { withoutBillingLine } from './billing-line.ts'

test.each([
  ['x-anthropic-billing-header: cc_version=2.1.330.639; cc_entrypoint=sdk-cli;', ''],
  ['x-anthropic-billing-header: cc_version=2.0.1; cch=0a1b2;\n\nBe brief.', 'Be brief.'],
  ['\nX-Anthropic-Billing-Header: a\nBe brief.', 'Be brief.'],
  ['Be brief.\nx-anthropic-billing-header: a', 'Be brief.\nx-anthropic-billing-header: a'],
  ['The x-anthropic-billing-header: a', 'The x-anthropic-billing-header: a'],
])('%j is %j', (text, stable) => {
  expect(withoutBillingLine(text)).toBe(stable)
})
