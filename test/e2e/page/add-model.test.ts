import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { chromium, hint, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { startHub } from '../../support/upstream/hub.ts'

describe.skipIf(chromium === undefined)(`adding a model in the page, in a browser${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  let hub: Awaited<ReturnType<typeof startHub>>
  const { HF_ENDPOINT: before } = process.env
  beforeAll(async () => {
    hub = await startHub()
    process.env.HF_ENDPOINT = hub.origin
    ;[app, browser] = await Promise.all([startApp({ models: [] }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
    await hub?.close()
    if (before === undefined) delete process.env.HF_ENDPOINT
    else process.env.HF_ENDPOINT = before
  })

  const open = async () => {
    const opened = await openServerPage(browser, `${app.url}/#/models`, {})
    await opened.page.getByRole('button', { name: 'Add a model' }).click()
    return { ...opened, dialog: opened.page.getByRole('dialog', { name: 'Add a model' }) }
  }

  test('the catalogue has size, fit and abilities, and one click fetches a model', async () => {
    const { page, dialog, close } = await open()
    const row = dialog.getByRole('listitem').filter({ hasText: 'qwen3:1.7b' })
    await row.getByText(/Qwen3 1\.7B · 1\.3 GB · trained for 40,960 tokens · .* · thinks · calls tools/).waitFor()
    await dialog.getByText(/Llama 3\.3 70B · 42\.5 GB/).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByLabel('Name or source').fill('qwen3 1.7')
    await expect.poll(() => dialog.getByRole('listitem').filter({ hasText: 'Qwen3' }).count()).toBe(1)
    await dialog.getByRole('button', { name: 'Fetch qwen3:1.7b' }).click()
    await page.getByRole('cell', { name: /qwen3:1\.7b/ }).waitFor()
    expect(hub.seen.some(({ url }) => url.includes('bartowski/Qwen_Qwen3-1.7B-GGUF'))).toBe(true)
    await close()
  })

  test('a failure can be tried again, or dismissed', async () => {
    const { page, dialog, close } = await open()
    await dialog.getByLabel('Name or source').fill('/nowhere/model.gguf')
    await page.keyboard.press('Enter')
    const alert = page.getByRole('alert').filter({ hasText: '/nowhere/model.gguf' })
    await alert.getByRole('button', { name: 'Try again' }).click()
    await alert.getByRole('button', { name: 'Done' }).click()
    await expect.poll(() => alert.count()).toBe(0)
    await close()
  })
})
