import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { chromium, openPage, type Page } from '../../support/process/browser.ts'

const hint = chromium === undefined ? ' (skipped: install chromium)' : ''
const key = 'sk-reader-0123456789abcdef'

describe.skipIf(chromium === undefined)(`the page at /docs, in a browser${hint}`, () => {
  let app: RunningApp
  let page: Page
  let profile: string
  beforeAll(async () => {
    app = await startApp({
      server: { apiKeys: [{ name: 'reader', key }] },
      models: [{ engine: 'fake', id: 'org/fake', script: 'from-request' }],
    })
    profile = await mkdtemp(join(tmpdir(), 'dragoman-docs-'))
    page = await openPage(`${app.url}/docs`, profile)
    await page.settles('document.querySelectorAll("details").length > 100')
  })
  afterAll(async () => {
    await page.close()
    await app.close()
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })

  /** Opens a route, sends its example, and waits for what stands in the answer. */
  const send = async (id: string, answer: string) => {
    await page.evaluate(`document.getElementById("${id}").open = true`)
    await page.settles(`document.querySelector("#${id} button") !== null`)
    await page.evaluate(`document.querySelector("#${id} button").click()`)
    await page.settles(`document.querySelector("#${id} pre").textContent.includes(${JSON.stringify(answer)})`)
  }

  test('lists the routes, and those that hold the words of the filter', async () => {
    const shown = '[...document.querySelectorAll("details")].filter((entry) => !entry.hidden).map((entry) => entry.id).join()'
    const filter = (words: string) => `
      document.getElementById("filter").value = "${words}"
      document.getElementById("filter").dispatchEvent(new Event("input"))`
    await page.evaluate(filter('post responses compact'))
    expect(await page.evaluate(shown)).toBe('postV1ResponsesCompact')
    await page.evaluate(filter(''))
    expect(String(await page.evaluate(shown)).split(',').length).toBeGreaterThan(100)
  })

  test('sends an example with the key that is entered, and shows the answer', async () => {
    await send('postV1ChatCompletions', '401 application/json')
    await page.evaluate(`document.getElementById("key").value = "${key}"`)
    await send('postV1ChatCompletions', '"content":"Good morning."')
    // Where a model has to be named, it is the first of the list.
    await send('postApiChat', '"model":"org/fake"')
    await send('getV1Models', '"id":"org/fake"')
  })

  test('shows the fields of a body, and of a reply', async () => {
    await page.evaluate('document.getElementById("postV1ChatCompletions").open = true')
    const cells = String(await page.evaluate('document.getElementById("postV1ChatCompletions").textContent'))
    expect(cells).toContain('Scope of a key: inference')
    expect(cells).toContain('Also at: /chat/completions')
    expect(cells).toContain('messages *')
    expect(cells).toMatch(/choices \*array of/)
  })
})
