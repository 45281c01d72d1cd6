import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { proxyTo } from '../../support/page/proxy.ts'

const root = 'sk-root-0123456789abcdef'
const meter = 'sk-meter-0123456789abcdef'

describe.skipIf(browserPath === undefined)(`the overview of the page, in a browser${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const server = { adminKey: root, apiKeys: [{ key: meter, name: 'meter', scopes: ['metrics'] as 'metrics'[] }] }
    const models = [{ engine: 'fake' as const, id: 'org/writer', script: 'from-request' }]
    ;[app, browser] = await Promise.all([startApp({ builtinModel: false, server, models }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  test('the overview has the load of the server', async () => {
    const { page, close } = await openServerPage(browser, `${app.url}/#/overview`, { key: meter })
    const chart = page.getByRole('slider', { name: /^Tokens per second/ })
    await chart.waitFor({ timeout: 30_000 })
    await chart.focus()
    await page.keyboard.press('ArrowLeft')
    expect(await chart.getAttribute('aria-valuetext')).toMatch(/\d\d:\d\d:\d\d: Generated .* tok\/s, Read .* tok\/s/)
    await close()
  })

  test('the overview and the models have the memory of GPUs, where the server has some', async () => {
    const devices = [{ name: 'CUDA0', description: 'A GPU', total_bytes: 80_000_000_000, free_bytes: 60_000_000_000 }]
    const proxy = await proxyTo(app.url, {
      events: (text) => text.replace('"models":[', `"devices":${JSON.stringify(devices)},"models":[`),
    })
    const opened = await openServerPage(browser, `${proxy.url}/#/models`, { key: root })
    const { page, close } = opened
    const used = page.getByRole('progressbar', { name: 'A GPU: 20 GB of 80 GB in use' })
    await used.waitFor()
    expect(await used.getAttribute('aria-valuenow')).toBe('25')
    await page.getByRole('link', { name: 'Overview' }).click()
    const plot = page.getByRole('region', { name: 'Memory of GPUs' })
    await plot.getByText('A GPU: 20 GB of 80 GB in use').waitFor()
    // What the page has seen, at the server's samples.
    await expect
      .poll(() => plot.getByRole('slider').getAttribute('aria-valuetext'), { timeout: 30_000 })
      .toMatch(/^\d.*: CUDA0 20 GB$/)
    expect(await findBarriers(page)).toEqual([])
    expect([...opened.strangers, ...opened.problems]).toEqual([])
    await close()
    proxy.close()

    const without = await openServerPage(browser, `${app.url}/#/models`, { key: root })
    await without.page.getByText(/^Models use/).waitFor()
    expect(await without.page.getByText('in use').count()).toBe(0)
    await without.close()
  })
})
