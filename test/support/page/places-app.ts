import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startApp } from '../http/app.ts'
import { openBrowser } from './open-page.ts'

export const root = 'sk-root-0123456789abcdef'
export const alice = 'sk-alice-0123456789abcdef'
export const meter = 'sk-meter-0123456789abcdef'
export const hostileName = 'org/<img/src=x/onerror=window.pwned=1>'

/** Speaks for minutes. */
export const endless = JSON.stringify({ chunks: Array.from({ length: 10_000 }, (_, index) => `w${index} `), delayMs: 50 })

/** The body of a batch of Messages that asks these. */
export function batchOf(contents: readonly string[]) {
  const requests = contents.map((content, index) => ({
    custom_id: `${index}`,
    params: { model: 'org/slow', max_tokens: 10_000, messages: [{ role: 'user', content }] },
  }))
  return { requests }
}

export async function placeLinks(page: Page): Promise<string[]> {
  return (await page.getByRole('navigation').getByRole('link').allInnerTexts()).map((text) => text.trim())
}

/** Two servers with a page, one of them with keys, a fleet and kept requests, and a browser. */
export async function startPlaces() {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-places-'))
  const echo = { engine: 'fake', id: 'org/echo', script: 'from-request' } as const
  const replicas = await Promise.all([0, 1].map(() => startApp({ models: [echo], builtinModel: false })))
  const [app, bare, browser] = await Promise.all([
    startApp({
      builtinModel: false,
      server: {
        adminKey: root,
        apiKeys: [
          { key: alice, name: 'alice', scopes: ['inference'], requestsPerMinute: 100_000 },
          { key: meter, name: 'meter', scopes: ['metrics'] },
        ],
      },
      storage: {},
      log: { captureFolder: folder },
      models: [
        { engine: 'fake', id: 'org/writer', aliases: ['default'], script: 'from-request', slots: 64, maxQueued: 64 },
        { engine: 'fake', id: 'org/slow', script: 'from-request', slots: 1 },
        { engine: 'remote', id: 'fleet/echo', upstreamModel: 'org/echo', endpoints: replicas.map(({ url }) => ({ url })) },
      ],
    }),
    startApp({ builtinModel: false, models: [echo, { ...echo, id: hostileName }] }),
    openBrowser(),
  ])
  const close = async () => {
    await browser.close()
    await Promise.all([app, bare, ...replicas].map((each) => each.close()))
    await rm(folder, { recursive: true, force: true })
  }
  const post = (path: string, body: object, key: string) =>
    fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  return { app, bare, browser, replicas, post, close }
}
