import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { answers, script, write } from '../../support/page/chat-words.ts'
import { browserPath, hint, openBrowser, openServerPage } from '../../support/page/open-page.ts'

describe.skipIf(browserPath === undefined)(`Back, in a browser${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const models = [{ engine: 'fake', id: 'scripted', script: 'from-request' } as const]
    ;[app, browser] = await Promise.all([startApp({ models }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  const list = (page: Page) => page.getByRole('region', { name: 'Conversations' })
  const settings = (page: Page) => page.getByRole('complementary', { name: 'Settings' })
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

  const back = (page: Page) => page.evaluate('history.back()')

  /** A phone, with two conversations: the second is open. */
  const openTwo = async (width = 390) => {
    const opened = await openServerPage(browser, app.url, { width, height: 800 })
    const { page } = opened
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
    await write(page, script({ raw: 'The first answer.' }))
    await answers(page).getByText('The first answer.').waitFor()
    const first = page.url()
    await page.getByRole('button', { name: 'New chat' }).click()
    await write(page, script({ raw: 'The second answer.' }))
    await answers(page).getByText('The second answer.').waitFor()
    return { ...opened, first, second: page.url() }
  }

  test('closes the list of conversations, and stays in the conversation', async () => {
    const { page, second, problems, close } = await openTwo()
    await press(page, 'Show the conversations')
    await list(page).waitFor()
    await page.getByRole('searchbox').fill('answer')
    await back(page)
    await list(page).waitFor({ state: 'hidden' })
    expect(page.url()).toBe(`${second}?filter=answer`)
    await answers(page).getByText('The second answer.').waitFor()
    expect(problems).toEqual([])
    await close()
  })

  test('leads from a conversation that was picked in the list to the one before', async () => {
    const { page, first, second, close } = await openTwo()
    await press(page, 'Show the conversations')
    await list(page).getByRole('link').nth(1).click()
    await answers(page).getByText('The first answer.').waitFor()
    await list(page).waitFor({ state: 'hidden' })
    expect(page.url()).toBe(first)
    await back(page)
    await answers(page).getByText('The second answer.').waitFor()
    expect(page.url()).toBe(second)
    await page.evaluate('history.forward()')
    await answers(page).getByText('The first answer.').waitFor()
    await close()
  })

  test('closes the settings; closed by their button, they leave nothing to go back from', async () => {
    const { page, first, second, close } = await openTwo()
    await press(page, 'Settings')
    await settings(page).waitFor()
    await back(page)
    await settings(page).waitFor({ state: 'detached' })
    expect(page.url()).toBe(second)
    await press(page, 'Settings')
    await press(page, 'Close the settings')
    await settings(page).waitFor({ state: 'detached' })
    await expect.poll(() => page.url()).toBe(second)
    await back(page)
    await answers(page).getByText('The first answer.').waitFor()
    expect(page.url()).toBe(first)
    await close()
  })

  test('closes a dialog, then the list below it', async () => {
    const { page, second, close } = await openTwo()
    await press(page, 'Show the conversations')
    await list(page)
      .getByRole('button', { name: /^Delete/ })
      .first()
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await back(page)
    await dialog.waitFor({ state: 'detached' })
    expect(await list(page).isVisible()).toBe(true)
    await back(page)
    await list(page).waitFor({ state: 'hidden' })
    expect(page.url()).toBe(second)
    await close()
  })

  test('leads to the conversation before, after a reload with a dialog open', async () => {
    const { page, first, close } = await openTwo(1280)
    await list(page)
      .getByRole('button', { name: /^Delete/ })
      .first()
      .click()
    await page.getByRole('dialog').waitFor()
    await page.reload()
    await answers(page).getByText('The second answer.').waitFor()
    await back(page)
    await answers(page).getByText('The first answer.').waitFor()
    expect(page.url()).toBe(first)
    await close()
  })
})
