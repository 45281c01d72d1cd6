import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { browserPath, hint, openBrowser, openServerPage } from '../../support/page/open-page.ts'

const cancels = '**/api/inference/cancel'

describe.skipIf(browserPath === undefined)(`the stop of an answer, in a browser${hint}`, () => {
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

  /** A page on which an answer without an end has begun. */
  const openAnswering = async (delayMs = 20) => {
    const opened = await openServerPage(browser, app.url)
    await opened.page.getByRole('combobox', { name: 'Model' }).waitFor()
    await write(opened.page, script({ raw: 'word '.repeat(90_000), delayMs }))
    await answers(opened.page).getByText('word word').waitFor()
    return opened
  }
  const hasStopped = async () => expect.poll(() => app.metric('dragoman_slots_busy{model="scripted"}')).toBe(0)

  test('C42: a cancel that fails closes the connection', async () => {
    const { page, close } = await openAnswering()
    await page.route(cancels, (route) => route.abort())
    // What would close the connection after a while does not come.
    await page.clock.install()
    await page.clock.pauseAt(Date.now() + 1000)
    await page.keyboard.press('Escape')
    await hasStopped()
    await close()
  })

  test('C43: however often Escape is pressed, one cancel is sent', async () => {
    const { page, close } = await openAnswering()
    let sent = 0
    let answer = () => undefined as unknown
    await page.route(cancels, (route) => {
      sent += 1
      answer = () => route.continue()
    })
    for (let time = 0; time < 3; time += 1) await page.keyboard.press('Escape')
    await expect.poll(() => sent).toBe(1)
    await answer()
    await facts(page).waitFor()
    await hasStopped()
    expect(sent).toBe(1)
    await close()
  })

  test('what is written while an answer comes is sent when it is complete', async () => {
    const { page, close } = await openServerPage(browser, app.url)
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
    await write(page, script({ raw: 'word '.repeat(100), delayMs: 20 }))
    await answers(page).getByText('word word').waitFor()
    await write(page, script({ raw: 'THEN' }))
    await page.getByText('It is sent when the answer is complete.').waitFor()
    await answers(page).getByText('THEN', { exact: true }).waitFor()
    expect(await page.getByLabel('Write a message').inputValue()).toBe('')
    await close()
  })

  test('what waits for an answer stays in the field if that is stopped, or another conversation is opened', async () => {
    const { page, close } = await openAnswering()
    const field = page.getByLabel('Write a message')
    await write(page, 'LATER')
    await page.getByText('It is sent when').waitFor()
    await page.keyboard.press('Escape')
    await facts(page).waitFor()
    expect([await field.inputValue(), await answers(page).count()]).toEqual(['LATER', 1])
    await field.fill('')
    await write(page, script({ raw: 'word '.repeat(300), delayMs: 20 }))
    await answers(page).nth(1).getByText('word').waitFor()
    await write(page, 'LATER')
    await page.getByText('It is sent when').waitFor()
    await page.getByRole('button', { name: 'New chat' }).click()
    await expect.poll(() => app.metric('dragoman_slots_busy{model="scripted"}')).toBe(0)
    await page.goBack()
    await facts(page).nth(1).waitFor()
    expect([await field.inputValue(), await answers(page).count()]).toEqual(['LATER', 2])
    await close()
  })

  test.each(['this tab', 'another tab'])(
    'a message that is deleted in %s while it is answered stops it, and stays away',
    async (where) => {
      // So slow that the question stays in view.
      const { page, context, close } = await openAnswering(300)
      const actor = where === 'this tab' ? page : await context.newPage()
      if (actor !== page) await actor.goto(page.url())
      await actor.locator('article.user').getByRole('button', { name: 'Delete' }).click()
      await actor.getByRole('button', { name: 'Delete it and all that follows' }).click()
      await hasStopped()
      await expect.poll(() => page.locator('article').count()).toBe(0)
      await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
      expect(await page.locator('article').count()).toBe(0)
      await close()
    },
  )
})
