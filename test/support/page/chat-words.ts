import type { Page } from 'playwright-core'

/** A message that the scripted engine answers with this reply. */
export const script = (reply: object) => JSON.stringify(reply)

/** The words of the page are its handles: what a person reads is what a test finds. */
export const write = async (page: Page, text: string) => {
  await page.getByLabel('Write a message').fill(text)
  await page.keyboard.press('Enter')
}
export const answers = (page: Page) => page.locator('article.answer')
export const facts = (page: Page) => page.locator('article.answer .facts')
