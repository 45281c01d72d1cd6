import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { type McpHttpServer, serveMcp } from '../../support/mcp/http-server.ts'
import { answers, write } from '../../support/page/chat-words.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, lacks, openBrowser, openServerPage } from '../../support/page/open-page.ts'

const host = '127.0.0.2'
const token = 'their-secret-token'
const phone = { width: 360, height: 700 }
const call = `<tool_call>${JSON.stringify({ name: 'own__echo', arguments: { text: 'moon' } })}</tool_call>`
const script = [
  { result: 'echo: ', reply: { raw: 'My server repeats it.' } },
  { result: 'not approved', reply: { raw: 'Then not.' } },
  { match: 'repeat', reply: { raw: call } },
  { reply: { raw: 'Hello.' } },
]

describe.skipIf(browserPath === undefined)(`MCP servers of a person in the chat of the page, in a browser${hint}`, () => {
  let folder: string
  let mcp: McpHttpServer
  let app: RunningApp
  let closed: RunningApp
  let browser: Browser
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-page-own-servers-'))
    await writeFile(join(folder, 'script.yaml'), JSON.stringify(script))
    mcp = await serveMcp(host)
    const { initialize } = mcp.handle
    mcp.handle.initialize = (asked) => {
      if (asked.request.headers.authorization === `Bearer ${token}`) initialize?.(asked)
      else asked.response.writeHead(401).end()
    }
    const models = [
      { id: 'scripted', engine: 'fake' as const, script: join(folder, 'script.yaml'), toolFormat: 'hermes' as const },
    ]
    const tools = { allowRequestServers: [host] }
    ;[app, closed, browser] = await Promise.all([
      startApp({ models, tools, media: { allowedAddresses: [host] } }),
      startApp({ models }),
      openBrowser(),
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([app?.close(), closed?.close()])
    mcp?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const settingsOf = (page: Page) => page.getByRole('complementary', { name: 'Settings' })
  const showSettings = async (page: Page) => {
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
    await page.getByRole('button', { name: 'Settings' }).click()
  }

  test('one is added by its address with the keyboard, and a chat uses its tools', async () => {
    const { page, context, problems, strangers, close } = await openServerPage(browser, app.url, phone)
    await showSettings(page)
    const settings = settingsOf(page)
    await settings.getByRole('button', { name: 'Add an MCP server' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Add an MCP server' })
    await dialog.getByText(`at these hosts and below: ${host}`).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.type('own')
    for (const [field, text] of [
      ['Address', mcp.url],
      ['Token', 'wrong'],
    ] as const) {
      // WebKit's driver does not move the focus by this key.
      if (lacks('other pages')) await dialog.getByLabel(field).focus()
      else await page.keyboard.press('Tab')
      await page.keyboard.type(text)
    }
    await dialog.getByLabel('Token').press('Enter')
    await dialog.getByText('it needs a valid token').waitFor()
    await dialog.getByLabel('Token').fill(token)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(phone.width)
    await dialog.getByLabel('Token').press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await settings.getByText('1 tool of own').waitFor()
    expect(await settings.getByLabel('own', { exact: true }).isChecked()).toBe(true)
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Close the settings' }).click()

    await write(page, 'repeat')
    await answers(page).getByText('My server repeats it.').waitFor()
    await answers(page).getByText('The server ran own__echo').click()
    expect(await answers(page).textContent()).toContain('echo: {"text":"moon"}')

    // The conversation has the name alone, and only this tab has the token.
    const kept = String(await page.evaluate(everythingKept))
    expect(kept).toContain('"names":["own"]')
    expect(kept).toContain(JSON.stringify({ name: 'own', url: mcp.url, needsToken: true }).replaceAll('"', '\\"'))
    expect(kept).not.toContain(token)

    const other = await context.newPage()
    await other.goto(page.url())
    await showSettings(other)
    await settingsOf(other).getByText('Its token ended with the tab').waitFor()
    await settingsOf(other).getByRole('button', { name: 'Change own' }).click()
    await other.getByRole('dialog').getByLabel('Token').fill(token)
    await other.getByRole('button', { name: 'Connect' }).click()
    await settingsOf(other).getByText('1 tool of own').waitFor()
    await settingsOf(other).getByRole('button', { name: 'Remove own' }).click()
    await settingsOf(other).getByText('1 tool of own').waitFor({ state: 'detached' })
    expect([...problems, ...strangers]).toEqual([])
    await close()
  })

  test('a person is asked before its calls, and one that is gone is named', async () => {
    const { page, problems, close } = await openServerPage(browser, app.url)
    await showSettings(page)
    const settings = settingsOf(page)
    await settings.getByRole('button', { name: 'Add an MCP server' }).click()
    await page.getByLabel('Name', { exact: true }).fill('own')
    await page.getByLabel('Address').fill(mcp.url)
    await page.getByRole('dialog').getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Connect' }).click()
    await settings.getByLabel('Ask me before each call').check()
    const calls = () => mcp.messages.filter(({ method }) => method === 'tools/call').length
    const before = calls()
    await write(page, 'repeat')
    await page.getByRole('group', { name: 'own__echo waits for you' }).waitFor()
    expect(calls()).toBe(before)
    await page.getByRole('button', { name: 'Deny' }).click()
    await answers(page).getByText('Then not.').waitFor()
    expect(calls()).toBe(before)

    const list = mcp.handle['tools/list']
    mcp.handle['tools/list'] = ({ response }) => response.writeHead(500).end()
    await write(page, 'repeat')
    await answers(page).getByText("the MCP server 'own' (mcp_servers[0].url) did not list its tools").waitFor()
    if (list !== undefined) mcp.handle['tools/list'] = list
    expect(problems).toEqual([])
    await close()
  })

  test('where the operator allows none, the page says what allows them', async () => {
    const { page, problems, close } = await openServerPage(browser, closed.url, phone)
    await showSettings(page)
    await settingsOf(page).getByRole('button', { name: 'Add an MCP server' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add an MCP server' })
    await dialog.getByText('tools.allowRequestServers').waitFor()
    expect(await dialog.getByRole('textbox').count()).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(problems).toEqual([])
    await close()
  })
})

/** All that the browser keeps beyond the tab, as JSON. */
const everythingKept = `(async () => {
  const settled = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const database = await settled(indexedDB.open('dragoman'))
  const reading = database.transaction([...database.objectStoreNames])
  const stores = [...database.objectStoreNames].map((name) => settled(reading.objectStore(name).getAll()))
  const kept = JSON.stringify([await Promise.all(stores), { ...localStorage }])
  database.close()
  return kept
})()`
