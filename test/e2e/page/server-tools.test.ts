import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { type McpHttpServer, serveMcp } from '../../support/mcp/http-server.ts'
import { answers, facts, write } from '../../support/page/chat-words.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, openBrowser, openServerPage, type View } from '../../support/page/open-page.ts'
import { hasSandbox, sandboxHint } from '../../support/tools/sandbox.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const code = `import base64; open('plot.png', 'wb').write(base64.b64decode('${png}')); print('drawn')`
const call = (name: string, args: object) => `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`
const script = [
  { result: 'echo: ', reply: { raw: 'The server repeats it.' } },
  { result: 'Twice a day', reply: { raw: 'Twice a day, says the page.' } },
  { result: 'not approved', reply: { raw: 'Then without it.' } },
  { result: 'drawn', reply: { raw: 'Here it is.' } },
  { match: 'tides', reply: { raw: `I look. ${call('web_search', { query: 'tides <b>today</b>' })}` } },
  { match: 'repeat', reply: { raw: call('docs__echo', { text: 'moon <i>and</i> tide' }) } },
  { match: 'draw', reply: { raw: call('python', { code }) } },
  { reply: { raw: 'Hello.' } },
]
const echoing = (name: string) => ({ name, description: `Repeats a text, ${name}.`, inputSchema: { type: 'object' } })
const found = {
  results: [{ url: 'https://a.example/tides', title: 'Tides', content: 'Twice a day. <img src=x onerror=alert(1)>' }],
}

describe.skipIf(browserPath === undefined)(`tools of the server in the chat of the page, in a browser${hint}`, () => {
  let folder: string
  let service: Awaited<ReturnType<typeof listenOnLoopback>>
  let mcp: McpHttpServer
  let app: RunningApp
  let browser: Browser
  const queries: string[] = []
  /** Resolves when the search may be answered. */
  let mayAnswer = Promise.resolve()
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-page-tools-'))
    await chmod(folder, 0o711)
    await writeFile(join(folder, 'script.yaml'), JSON.stringify(script))
    service = await listenOnLoopback(async ({ url = '' }, response) => {
      queries.push(new URL(url, 'http://x').searchParams.get('q') ?? '')
      await mayAnswer
      response.setHeader('content-type', 'application/json').end(JSON.stringify(found))
    })
    mcp = await serveMcp('127.0.0.1')
    mcp.handle['tools/list'] = ({ answer }) => answer({ tools: ['echo', 'other'].map(echoing) })
    mcp.handle['tools/call'] = ({ message, answer }) =>
      answer({ content: [{ type: 'text', text: `echo: ${JSON.stringify(message.params)}` }] })
    const models = [
      { id: 'scripted', engine: 'fake' as const, script: join(folder, 'script.yaml'), toolFormat: 'hermes' as const },
    ]
    const tools = {
      mcp: { docs: { url: mcp.url }, git: { command: process.execPath, args: ['-e', 'process.exit(3)'] } },
      webSearch: { kind: 'searxng' as const, url: service.origin },
      ...(hasSandbox && { python: true as const, sessions: { folder: join(folder, 'sandbox') } }),
    }
    ;[app, browser] = await Promise.all([startApp({ models, tools }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
    await service?.close()
    mcp?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const open = async (...names: readonly string[]) => openAt({}, ...names)
  const openAt = async (view: View, ...names: readonly string[]) => {
    const opened = await openServerPage(browser, app.url, view)
    const { page } = opened
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
    await page.getByRole('button', { name: 'Settings' }).click()
    for (const name of names) await page.getByLabel(name, { exact: true }).check()
    return opened
  }
  const waiting = (page: Page, name: string) => page.getByRole('group', { name: `${name} waits for you` })

  test('a search is shown as it runs, and with what it found', async () => {
    const { page, problems, strangers, close } = await open('Search the web')
    let answer: () => void = () => undefined
    mayAnswer = new Promise((resolve) => {
      answer = resolve
    })
    await write(page, 'When are tides?')
    await answers(page).getByText('The server runs web_search').waitFor()
    expect(queries.at(-1)).toBe('tides <b>today</b>')
    expect(await facts(page).count()).toBe(0)
    answer()
    await facts(page).waitFor()
    await answers(page).getByText('The server ran web_search').click()
    const shown = await answers(page).textContent()
    expect(shown).toContain('"query": "tides <b>today</b>"')
    expect(shown).toContain('URL: https://a.example/tides')
    expect(shown).toContain('Twice a day, says the page.')
    expect(await answers(page).locator('img, b').count()).toBe(0)
    expect([...problems, ...strangers]).toEqual([])
    await close()
  })

  test('a person allows a call, denies it or stops the answer, and nothing runs before', async () => {
    const { page, problems, close } = await open('Search the web', 'Ask me before each call')
    const before = queries.length
    await write(page, 'When are tides?')
    await waiting(page, 'web_search').waitFor()
    expect(await answers(page).textContent()).toContain('"query": "tides <b>today</b>"')
    expect(await findBarriers(page)).toEqual([])
    expect(queries).toHaveLength(before)
    await page.getByRole('button', { name: 'Deny' }).click()
    await answers(page).getByText('Then without it.').waitFor()
    expect(queries).toHaveLength(before)
    await answers(page).getByText('The server ran web_search failed').waitFor()

    await write(page, 'But when are tides?')
    await page.getByRole('button', { name: 'Allow' }).click()
    await answers(page).getByText('Twice a day, says the page.').waitFor()
    expect(queries).toHaveLength(before + 1)
    expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0)

    await write(page, 'And when are tides?')
    await waiting(page, 'web_search').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await expect.poll(() => facts(page).count()).toBe(3)
    expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0)
    expect(queries).toHaveLength(before + 1)
    expect(problems).toEqual([])
    await close()
  })

  test.skipIf(!hasSandbox)(`a picture that a program made is shown${sandboxHint}`, async () => {
    const { page, problems, strangers, close } = await open('Run Python')
    await write(page, 'draw')
    await facts(page).waitFor()
    await answers(page).getByText('The server ran python').click()
    const picture = page.getByRole('img', { name: 'The picture plot.png' })
    await picture.waitFor()
    expect(await picture.evaluate((image) => Reflect.get(image, 'naturalWidth'))).toBe(1)
    expect([...problems, ...strangers]).toEqual([])
    await close()
  })

  test('an MCP server and its tools are switched on for a conversation, and their calls are shown', async () => {
    const { page, problems, strangers, close } = await openAt({ width: 360, height: 700 })
    const settings = page.getByRole('complementary', { name: 'Settings' })
    await settings.getByText('it ended with exit code 3').waitFor()
    expect(await settings.getByLabel('git', { exact: true }).isDisabled()).toBe(true)
    await settings.getByText('2 tools of docs').click()
    await settings.getByLabel(/^echo/).check()
    const server = settings.getByLabel('docs', { exact: true })
    expect(await server.evaluate((input) => Reflect.get(input, 'indeterminate'))).toBe(true)
    await settings.getByLabel(/^other/).check()
    expect(await server.isChecked()).toBe(true)
    await settings.getByLabel(/^other/).uncheck()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Close the settings' }).click()

    await write(page, 'repeat')
    await answers(page).getByText('The server repeats it.').waitFor()
    await answers(page).getByText('The server ran docs__echo').click()
    expect(await answers(page).textContent()).toContain('echo: {"name":"echo","arguments":{"text":"moon <i>and</i> tide"}')
    expect(await answers(page).locator('i').count()).toBe(0)
    expect([...problems, ...strangers]).toEqual([])

    await page.reload()
    await page.getByRole('button', { name: 'Settings' }).click()
    await settings.getByText('2 tools of docs').click()
    expect(await settings.getByLabel(/^echo/).isChecked()).toBe(true)
    expect(await settings.getByLabel(/^other/).isChecked()).toBe(false)
    await close()
  })
})
