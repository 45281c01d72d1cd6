import type { Locator } from 'playwright-core'

/** Replaces the text of a field. In browsers without Playwright's patches, its `fill` adds to a field of numbers, and empties none. */
export async function refill(field: Locator, text: string): Promise<void> {
  await field.evaluate((input) => Object.assign(input, { value: '' }).dispatchEvent(new Event('input', { bubbles: true })))
  if (text !== '') await field.fill(text)
}
