import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { type RunningApp, startApp } from '../http/app.ts'
import { openBrowser, openServerPage, type View } from './open-page.ts'

const scripted = { engine: 'fake', id: 'org/scripted', script: 'from-request', contextLength: 200_000 } as const

/** A server with the scripted model, and a browser: for the tests around. `open` waits until the chat is there. `more` models come after it. */
export function useScriptedPage(more: readonly { readonly id: string; readonly contextLength: number }[] = []) {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const models = [scripted, ...more.map((model) => ({ ...scripted, ...model }))]
    ;[app, browser] = await Promise.all([startApp({ models }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })
  return {
    url: () => app.url,
    browser: () => browser,
    open: async (view: View = {}) => {
      const opened = await openServerPage(browser, app.url, view)
      await opened.page.getByRole('combobox', { name: 'Model' }).waitFor()
      return opened
    },
  }
}
