import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../bench/processes.ts'
import { answers, script, write } from '../../support/page/chat-words.ts'
import { browserPath, hint, lacks, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { createServeHome, type ServeProcess } from '../../support/process/serve-process.ts'

describe.skipIf(browserPath === undefined)(`the page of a server in a process of its own${hint}`, () => {
  let home: Awaited<ReturnType<typeof createServeHome>>
  let server: ServeProcess
  let browser: Browser
  beforeAll(async () => {
    buildProgram()
    const tiny = { id: 'tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf', contextLength: 4096, threads: 1 }
    const scripted = { id: 'scripted', engine: 'fake', script: 'from-request', contextLength: 200_000 }
    // The page finds it again at the same address.
    home = await createServeHome('off', { port: await freePort() }, { models: [{ ...tiny, aliases: ['default'] }, scripted] })
    ;[server, browser] = await Promise.all([home.start(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await home?.remove()
  })

  test('a newcomer types, presses Enter and reads the answer: there is nothing else to do', async () => {
    await expect.poll(async () => (await fetch(`${server.url}/ready`)).status).toBe(200)
    const { page, strangers, problems, close } = await openServerPage(browser, server.url)
    // Where the keys go is where the page has put the cursor.
    await expect.poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Write a message')
    const asked: unknown[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(request.postDataJSON())
    })
    await page.evaluate(`{
      window.acts = 0
      for (const type of ['click', 'focusin']) addEventListener(type, () => { window.acts += 1 }, true)
    }`)
    await page.keyboard.type('What is the capital of France?')
    await page.keyboard.press('Enter')
    await answers(page).getByText('Paris').waitFor()
    expect(await page.evaluate('window.acts')).toBe(0)
    // One request, to the model that was chosen.
    expect(asked).toHaveLength(1)
    if (!lacks('bodies of requests')) expect(asked).toEqual([expect.objectContaining({ model: 'tiny', stream: true })])
    expect([...strangers, ...problems]).toEqual([])
    await close()
  })

  test('when the server is killed in the middle of an answer, the page says so and keeps what came; from the next one it continues', async () => {
    const { page, context, close } = await openServerPage(browser, server.url)
    await page.getByRole('combobox', { name: 'Model' }).selectOption('scripted')
    const watching = await context.newPage()
    await watching.goto(`${server.url}/#/activity`)
    await watching.getByRole('heading', { name: 'No request yet' }).or(watching.getByRole('row').nth(1)).waitFor()
    await write(page, script({ raw: 'before the end. '.repeat(2000), delayMs: 10 }))
    await answers(page).getByText('before the end. before the end.').waitFor()
    const running = watching.getByRole('row').filter({ hasText: /\d tokens/ })
    await running.waitFor()

    await server.kill()
    await page.getByText(/The server cannot be reached. Next try in \d+ s/).waitFor()
    await page.getByLabel('Write a message').fill('typed while it was away')
    const kept = (await answers(page).locator('.md').textContent()) ?? ''
    expect(kept).toContain('before the end. before the end.')

    server = await home.start()
    await reconnect(page)
    // What ran in the process that has ended does not run any more.
    await reconnect(watching)
    await expect.poll(() => running.count()).toBe(0)
    await answers(page).getByText('The connection to the server ended before the answer did. What came is kept.').waitFor()

    await answers(page).getByRole('button', { name: 'Continue' }).click()
    await expect
      .poll(async () => ((await answers(page).locator('.md').textContent()) ?? '').length)
      .toBeGreaterThan(kept.length + 20)
    expect(await answers(page).locator('.md').textContent()).toContain(kept.trim())
    await running.waitFor()
    expect(await page.getByLabel('Write a message').inputValue()).toBe('typed while it was away')
    await page.keyboard.press('Escape')
    await answers(page)
      .getByText(/· stopped/)
      .waitFor()
    await close()
  })
})

/** A page that has waited for long tries by itself, and then has no button. */
async function reconnect(page: Page): Promise<void> {
  const now = page.getByRole('button', { name: 'Try now' })
  await expect
    .poll(async () => {
      if (await now.isVisible()) await now.click({ timeout: 1000 }).catch(() => undefined)
      return page.getByText('The server cannot be reached').count()
    })
    .toBe(0)
}
