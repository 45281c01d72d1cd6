import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type Browser, type BrowserContext, type BrowserContextOptions, webkit as launcher, type Page } from 'playwright-core'
import { until } from '../../http/app.ts'

/** Where Debian keeps WebKitGTK's browser; undefined if it is not installed. */
export const [webkit] = globSync('/usr/lib/*/webkit2gtk-4.1/MiniBrowser')

/**
 * WebKitGTK's browser on a display that nobody sees. Playwright's protocol for WebViews talks to its inspector, but knows neither contexts nor new tabs:
 * each context is a process, and each tab a window that it opens.
 */
export async function openWebKit(): Promise<Browser> {
  const display = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1400x1000x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const [number] = await once(display.stdio[3] as Readable, 'data')
  const contexts: BrowserContext[] = []
  const newContext = async (options: BrowserContextOptions = {}) => {
    const context = await openContext(`:${String(number).trim()}`, options)
    contexts.push(context)
    return context
  }
  const close = async () => {
    await Promise.all(contexts.map((context) => context.close()))
    await end(display)
  }
  return { newContext, close } as unknown as Browser
}

async function openContext(display: string, options: BrowserContextOptions): Promise<BrowserContext> {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-webkit-'))
  const port = await freePort()
  const flags = ['--private', '--ignore-tls-errors', '--javascript-can-open-windows-automatically=true']
  const look = options.colorScheme === 'dark' ? ['--dark-mode'] : []
  const child = spawn(webkit ?? 'MiniBrowser', [...flags, ...look, 'about:blank'], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_RUNTIME_DIR: home,
      DISPLAY: display,
      NO_AT_BRIDGE: '1',
      WEBKIT_INSPECTOR_HTTP_SERVER: `127.0.0.1:${port}`,
    },
  })
  const inspector = `127.0.0.1:${port}`
  const targets = async () => {
    const response = await fetch(`http://${inspector}/`).catch(() => undefined)
    return [...((await response?.text()) ?? '').matchAll(/\/socket\/\d+\/\d+\/WebPage/g)].map(
      ([path]) => `ws://${inspector}${path}`,
    )
  }
  await until(async () => (await targets()).length === 1)
  const browsers: Browser[] = []
  const attach = async (target: string) => {
    const lists = createServer((_, response) => void response.end(JSON.stringify([{ webSocketDebuggerUrl: target }])))
    await once(lists.listen(0, '127.0.0.1'), 'listening')
    const browser = await launcher.connectOverCDP(`http://127.0.0.1:${(lists.address() as AddressInfo).port}`)
    lists.close()
    browsers.push(browser)
    const [context] = browser.contexts()
    const page = context?.pages()[0]
    if (context === undefined || page === undefined) throw new Error('the inspector shows no page')
    return { context, page }
  }
  const [root = ''] = await targets()
  const opener = await attach(root)
  const { width, height } = options.viewport ?? { width: 1280, height: 800 }
  const openWindow = async () => {
    const known = await targets()
    await opener.page.evaluate(`void window.open('about:blank', '_blank', 'width=${width},height=${height}')`)
    await until(async () => (await targets()).length > known.length)
    const opened = await attach((await targets()).find((target) => !known.includes(target)) ?? '')
    opened.page.goto = (url) => navigate(opened.page, url)
    return opened
  }
  const first = await openWindow()
  let isFirst = true
  return Object.assign(first.context, {
    newPage: async () => {
      if (!isFirst) return (await openWindow()).page
      isFirst = false
      return first.page
    },
    close: async () => {
      await Promise.all(browsers.map((browser) => browser.close()))
      await end(child)
      await rm(home, { recursive: true, force: true })
    },
  })
}

/** Of a window that another opened, the inspector does not report what Playwright waits for. */
async function navigate(page: Page, url: string): Promise<null> {
  // With another fragment, it stays in the same document.
  const [document, fragment] = url.split('#')
  const stays = fragment === undefined ? 'false' : `location.href.split('#')[0] === ${JSON.stringify(document)}`
  await page.evaluate(`void (window.isLeft = !(${stays}), location.href = ${JSON.stringify(url)})`)
  await until(() => page.evaluate('window.isLeft !== true && document.readyState === "complete"').then(Boolean, () => false))
  return null
}

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
}
