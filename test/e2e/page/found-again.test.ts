import { resolve } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { browserPath, hint, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { proxyTo } from '../../support/page/proxy.ts'

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ')
const whole = words(400)
const slow = script({ raw: whole, delayMs: 10 })

describe.skipIf(browserPath === undefined)(`answers that are left and found again${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const models = [
      { engine: 'fake', id: 'org/scripted', script: 'from-request', contextLength: 200_000 },
      { engine: 'fake', id: 'org/thinker', script: 'from-request', chatTemplate: resolve('test/support/page/thinks.jinja') },
    ] as const
    ;[app, browser] = await Promise.all([startApp({ models: [...models] }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  const open = async (url = app.url) => {
    const opened = await openServerPage(browser, url)
    await opened.page.getByRole('combobox', { name: 'Model' }).waitFor()
    const asked: string[] = []
    opened.context.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/completions')) asked.push(request.url())
    })
    return { ...opened, asked }
  }
  const openTab = async (context: BrowserContext, url: string) => {
    const tab = await context.newPage()
    await tab.goto(url)
    return tab
  }
  const come = (page: Page, word: string) => answers(page).getByText(word).waitFor()
  const ends = async (page: Page, text = whole) => {
    await facts(page).waitFor()
    expect(await answers(page).locator('.md').textContent()).toBe(text)
  }

  test('a reload, and another one, lose no word, and the model is asked once', async () => {
    const { page, asked, problems, close } = await open()
    await write(page, slow)
    await come(page, 'word60')
    await page.reload()
    await come(page, 'word150')
    await page.reload()
    await ends(page)
    expect(asked).toHaveLength(1)
    expect(problems).toEqual([])
    await close()
  })

  test('a closed tab loses nothing: the next one shows the answer as it goes on, or as it has ended', async () => {
    const { page, context, close } = await open()
    await write(page, slow)
    await come(page, 'word40')
    const url = page.url()
    await page.close()
    const next = await openTab(context, url)
    await come(next, 'word100')
    await next.close()
    await expect.poll(() => app.metric('dragoman_slots_busy{model="org/scripted"}'), { timeout: 60_000 }).toBe(0)
    await ends(await openTab(context, url))
    await close()
  })

  test('another tab shows the answer, stops it, and goes on with it when the first one is closed', async () => {
    const { page, context, asked, close } = await open()
    await write(page, slow)
    const other = await openTab(context, page.url())
    await come(other, 'word100')
    await page.close()
    await ends(other)
    expect(asked).toHaveLength(1)
    const third = await openTab(context, other.url())
    await write(other, script({ raw: 'more '.repeat(9000), delayMs: 10 }))
    await answers(third).last().getByText('more more').waitFor()
    await third.keyboard.press('Escape')
    await facts(other)
      .last()
      .getByText(/· stopped/)
      .waitFor()
    await expect.poll(() => app.metric('dragoman_slots_busy{model="org/scripted"}')).toBe(0)
    await close()
  })

  test('a lost connection is taken up where it ended, as soon as the server can be reached', async () => {
    const proxy = await proxyTo(app.url)
    const { page, asked, close } = await open(proxy.url)
    await write(page, slow)
    for (const word of ['word50', 'word120']) {
      await come(page, word)
      proxy.leave()
      await page
        .getByText(/cannot be reached|trying again/i)
        .first()
        .waitFor()
      proxy.comeBack()
    }
    await ends(page)
    expect(asked).toHaveLength(1)
    await close()
    proxy.close()
  })

  test('reasoning, calls of tools and probabilities are found again, too', async () => {
    const { page, close } = await open()
    await page.getByRole('combobox', { name: 'Model' }).selectOption('org/thinker')
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByLabel('Log-probabilities of tokens').check()
    await page
      .getByRole('textbox', { name: 'Tools' })
      .fill('[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}]')
    const call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    await write(page, script({ raw: `<think>${words(100)}</think>${words(100)}\n${call}`, delayMs: 10 }))
    await answers(page).getByText('word50').waitFor()
    await page.reload()
    await answers(page).locator('.md').getByText('word50').waitFor()
    await page.reload()
    await facts(page).waitFor()
    expect((await answers(page).locator('.md').textContent())?.trim()).toBe(words(100))
    expect(await answers(page).locator('.fold-text').textContent()).toBe(words(100))
    await answers(page).getByText('"city": "Oslo"').waitFor()
    await page.getByRole('button', { name: 'Tokens and their probabilities' }).click()
    expect((await page.locator('.token').allTextContents()).join('')).toContain(words(100))
    await close()
  })
})
