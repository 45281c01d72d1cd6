import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, lacks, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { proxyTo } from '../../support/page/proxy.ts'

const key = 'sk-reader-0123456789abcdef'
const watcher = 'sk-watcher-0123456789abcdef'

describe.skipIf(browserPath === undefined)(`the frame of the page, in a browser${hint}`, () => {
  let app: RunningApp
  let locked: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const models = [{ engine: 'fake', id: 'org/fake', script: 'from-request' }] as const
    const apiKeys = [
      { name: 'reader', key, scopes: ['inference' as const] },
      { name: 'watcher', key: watcher, scopes: ['metrics' as const] },
    ]
    ;[app, locked, browser] = await Promise.all([
      startApp({ models: [...models] }),
      startApp({ server: { apiKeys }, models: [...models] }),
      openBrowser(),
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
    await locked?.close()
  })

  test.each([false, true])('opens the chat, without a request elsewhere and without barriers (dark: %s)', async (isDark) => {
    const { page, strangers, problems, close } = await openServerPage(browser, app.url, { isDark })
    await page.getByRole('heading', { name: 'Chat', level: 1 }).waitFor()
    expect(await page.title()).toMatch(/Chat · Dragoman$/)
    expect(await findBarriers(page)).toEqual([])
    expect([...strangers, ...problems]).toEqual([])
    await close()
  })

  test('is used by keyboard: ? lists the keys, Escape closes them, and the focus returns', async () => {
    const { page, close } = await openServerPage(browser, app.url)
    const button = page.getByRole('button', { name: 'Keyboard' })
    // The message field takes the focus when the chat is there.
    await page.locator('textarea:focus').waitFor()
    await button.focus()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await expect.poll(() => page.evaluate('document.activeElement.title')).toBe('Keyboard')
    await close()
  })

  test('keeps the colours that are chosen', async () => {
    const { page, close } = await openServerPage(browser, app.url)
    await page.getByRole('button', { name: 'Colours: system' }).click()
    await page.getByRole('button', { name: 'Colours: light' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Colours: dark' }).waitFor()
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(19, 22, 25)')
    await close()
  })

  test('asks for a key, says why one is refused, and forgets it with the tab', async () => {
    const { page, context, close } = await openServerPage(browser, locked.url)
    const dialog = page.getByRole('dialog', { name: 'Sign in' })
    await dialog.getByLabel('API key').fill('sk-wrong')
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').filter({ hasText: 'the API key is not valid' }).waitFor()
    await dialog.getByLabel('API key').fill(key)
    await page.keyboard.press('Enter')
    await expect.poll(() => dialog.count()).toBe(0)
    expect(await context.cookies()).toEqual([])
    expect(await page.evaluate('JSON.stringify({ ...localStorage })')).not.toContain(key)
    const other = await context.newPage()
    await other.goto(locked.url)
    await other.getByRole('dialog', { name: 'Sign in' }).waitFor()
    await close()
  })

  test('says which scope a key lacks for a place', async () => {
    const { page, close } = await openServerPage(browser, `${locked.url}/#/chat`, { key: watcher })
    await page.getByText('This key lacks the scope "inference"').waitFor()
    expect(await page.getByRole('link', { name: 'Chat' }).count()).toBe(0)
    await close()
  })

  test('works below a prefix that a proxy removes', async () => {
    const proxy = await proxyTo(app.url, { prefix: '/llm' })
    const { page, problems, close } = await openServerPage(browser, `${proxy.url}/llm/`)
    await page.getByRole('heading', { name: 'Chat', level: 1 }).waitFor()
    expect(problems).toEqual([])
    await close()
    proxy.close()
  })

  test.skipIf(lacks('no network'))('says when the server is away, and when the next try is', async () => {
    const { page, context, close } = await openServerPage(browser, app.url)
    await page.getByRole('heading', { name: 'Chat', level: 1 }).waitFor()
    await context.setOffline(true)
    await page.evaluate('document.querySelector("a[href=\\"#/chat\\"]").click()')
    await page.evaluate('dispatchEvent(new Event("offline"))')
    await page.getByText(/The server cannot be reached. Next try in \d+ s/).waitFor()
    await context.setOffline(false)
    await page.getByRole('button', { name: 'Try now' }).click()
    await expect.poll(() => page.getByText('The server cannot be reached').count()).toBe(0)
    await close()
  })
})
