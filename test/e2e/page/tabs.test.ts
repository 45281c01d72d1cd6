import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { answers, facts, write } from '../../support/page/chat-words.ts'
import { storeAsBefore } from '../../support/page/kept.ts'
import { browserPath, hint, lacks, openBrowser, openServerPage } from '../../support/page/open-page.ts'

const said = (page: Page) => page.locator('article.user .user-text').allTextContents()

describe.skipIf(browserPath === undefined)(`conversations in several tabs${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const models = [{ engine: 'fake', id: 'org/scripted', script: 'from-request', contextLength: 200_000 }] as const
    ;[app, browser] = await Promise.all([startApp({ models: [...models] }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  const openTab = async (context: BrowserContext, url: string, isDeaf = false) => {
    const tab = await context.newPage()
    // As if the other tabs wrote before this one could hear of it.
    if (isDeaf) await tab.addInitScript('BroadcastChannel = class { postMessage() {} }')
    await tab.goto(url)
    await tab.getByRole('combobox', { name: 'Model' }).waitFor()
    return tab
  }
  /** A conversation in which FIRST was said and answered. */
  const begin = async () => {
    const opened = await openServerPage(browser, app.url)
    await opened.page.getByRole('combobox', { name: 'Model' }).waitFor()
    await write(opened.page, 'FIRST')
    await facts(opened.page).waitFor()
    return opened
  }
  const saidIn = async (page: Page) => {
    const texts = new Set<string>()
    const choose = (name: string) => page.getByRole('button', { name })
    while (await choose('Previous branch').and(page.locator(':enabled')).count()) await choose('Previous branch').first().click()
    for (;;) {
      for (const text of await said(page)) texts.add(text)
      const next = choose('Next branch').and(page.locator(':enabled'))
      if ((await next.count()) === 0) return [...texts].sort()
      await next.first().click()
    }
  }

  test('what is said in one tab is shown in the others, as it is answered', async () => {
    const { page, context, problems, close } = await begin()
    const second = await openTab(context, page.url())
    await write(page, 'ALPHA')
    await second.locator('article.answer').getByText('ALPHA').waitFor()
    await write(second, 'BETA')
    await page.locator('article.answer').getByText('BETA').waitFor()
    expect(await said(page)).toEqual(['FIRST', 'ALPHA', 'BETA'])
    expect(await said(second)).toEqual(['FIRST', 'ALPHA', 'BETA'])
    expect(problems).toEqual([])
    await close()
  })

  test('three tabs that have not heard of each other lose nothing, in every order of writing', async () => {
    const { page, context, close } = await begin()
    const tabs = { a: page, b: await openTab(context, page.url(), true), c: await openTab(context, page.url(), true) }
    const orders = ['abc', 'acb', 'bac', 'bca', 'cab', 'cba']
    const written: string[] = []
    for (const order of orders) {
      for (const name of order) {
        const tab = tabs[name as 'a' | 'b' | 'c']
        const text = `${name} in ${order}`
        await write(tab, text)
        await answers(tab).getByText(text, { exact: true }).waitFor()
        await expect.poll(() => tab.locator('[aria-busy=true]').count()).toBe(0)
        written.push(text)
      }
    }
    const fourth = await openTab(context, page.url())
    await fourth.locator('article.answer').first().waitFor()
    expect(await saidIn(fourth)).toEqual(['FIRST', ...written].sort())
    await close()
  })

  test('what is deleted in one tab is gone in all, also when a tab that has not heard of it writes', async () => {
    const { page, context, close } = await begin()
    const second = await openTab(context, page.url())
    const deaf = await openTab(context, page.url(), true)
    await page.getByRole('button', { name: 'Delete FIRST' }).click()
    await page.getByRole('dialog').getByText('"FIRST" has 2 messages').waitFor()
    // Not by a key: Firefox gives none to a tab behind others.
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await second.getByText('This conversation is not in this browser.').waitFor()
    await write(deaf, 'late')
    await deaf.getByText('This conversation is not in this browser.').waitFor()
    for (const tab of [page, second, await openTab(context, app.url)]) {
      expect(await tab.locator('a.conversation').count()).toBe(0)
    }
    await close()
  })

  test.skipIf(lacks('other pages'))(
    'conversations of an earlier page appear when its last tab is closed, and the new page says what it waits for',
    async () => {
      const { page, context, close } = await openServerPage(browser, `${app.url}/health`)
      const messages = { a: { id: 'a', role: 'user', text: 'said long ago', atMs: 1 } }
      const settings = { system: 'Be old.', sampling: {}, tools: '', schema: '' }
      const old = { id: 'old', title: 'old', createdAtMs: 1, updatedAtMs: 2, settings, messages, chosen: { start: 'a' } }
      await storeAsBefore(page, [old], true)
      const tab = await context.newPage()
      await tab.goto(app.url)
      await tab.getByText('Another tab shows an older version of this page').waitFor()
      await page.close()
      await tab.getByRole('link', { name: 'old' }).click()
      await tab.locator('article.user').getByText('said long ago').waitFor()
      expect(await tab.getByText('Another tab shows an older version').count()).toBe(0)
      await close()
    },
  )

  test('a tab says that a newer page has taken its conversations over', async () => {
    const { page, close } = await begin()
    await page.evaluate(`indexedDB.open('dragoman', 3).onsuccess = () => undefined`)
    await page.getByText('Another tab shows a newer version of this page. Reload this one').waitFor()
    await close()
  })
})
