import { type Browser, type BrowserContext, chromium as launcher, type Page } from 'playwright-core'
import { chromium } from '../process/browser.ts'

export const hint = chromium === undefined ? ' (skipped: install chromium)' : ''
export { chromium }

/** A Chromium without a window. */
export function openBrowser(more: readonly string[] = []): Promise<Browser> {
  return launcher.launch({
    ...(chromium !== undefined && { executablePath: chromium }),
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...more],
  })
}

export type OpenedPage = {
  readonly page: Page
  readonly context: BrowserContext
  /** Requests to other origins than the server's: there must not be one. */
  readonly strangers: readonly string[]
  /** What the page threw, and what its policy refused. */
  readonly problems: readonly string[]
  close(): Promise<void>
}

export type View = {
  readonly width?: number
  readonly height?: number
  readonly isDark?: boolean
  readonly key?: string
  readonly scale?: number
}

/** The page of a server, in a context of its own: nothing is stored yet. Requests to other origins are noted, and lead nowhere. */
export async function openServerPage(browser: Browser, url: string, view: View = {}): Promise<OpenedPage> {
  const { width = 1280, height = 800, isDark = false, key, scale = 1 } = view
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: isDark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    // A proxy in a test has a certificate that nobody knows.
    ignoreHTTPSErrors: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const strangers: string[] = []
  const problems: string[] = []
  const { origin } = new URL(url)
  await context.route(
    (address) => address.origin !== origin && address.protocol.startsWith('http'),
    async (route) => {
      strangers.push(route.request().url())
      await route.abort()
    },
  )
  if (key !== undefined) await context.addInitScript(`sessionStorage.setItem('dragoman.key', ${JSON.stringify(key)})`)
  const page = await context.newPage()
  page.on('pageerror', (error) => void problems.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) problems.push(message.text())
  })
  await page.goto(url)
  return { page, context, strangers, problems, close: () => context.close() }
}
