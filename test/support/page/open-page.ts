import { type Browser, type BrowserContext, chromium as launcher, type Page } from 'playwright-core'
import { chromium } from '../process/browser.ts'
import { firefox, openFirefox } from './browsers/firefox.ts'
import { openWebKit, webkit } from './browsers/webkit.ts'

/** The browser in which the page is tested; `npm run nightly` tries all. */
const browserName = process.env.DRAGOMAN_TEST_BROWSER ?? 'chromium'
export const browserPath = { chromium, firefox, webkit }[browserName]
if (browserPath === undefined && browserName !== 'chromium')
  throw new Error(`${browserName} is not installed: npm run doctor-dev`)
export const hint =
  browserPath === undefined ? ' (skipped: install chromium)' : browserName === 'chromium' ? '' : ` (${browserName})`

/** What Playwright cannot do in browsers as they are released, which lack its patches; Firefox plays nothing where there is no device for sound. */
const missing: Readonly<Record<string, readonly string[]>> = {
  firefox: ['bodies of requests', 'downloads', 'sound', 'a microphone', 'the main thread'],
  webkit: [
    'downloads',
    'a wheel',
    'acts of keys',
    'routed requests',
    'no network',
    'a microphone',
    'the main thread',
    'a large message',
    'a tall window',
    'other pages',
  ],
}
export const lacks = (...means: readonly string[]) => means.some((each) => missing[browserName]?.includes(each))

/** A browser without a window; `more` flags are for Chromium. */
export function openBrowser(more: readonly string[] = []): Promise<Browser> {
  if (browserName === 'firefox') return openFirefox()
  if (browserName === 'webkit') return openWebKit()
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
  const { origin, host } = new URL(url)
  const isStrange = (address: URL) => address.origin !== origin && address.protocol.startsWith('http')
  context.on('request', (request) => {
    if (isStrange(new URL(request.url()))) strangers.push(request.url())
  })
  // In WebKit, a page that is routed does not load.
  if (browserName !== 'webkit') await context.route(isStrange, (route) => route.abort())
  // A blank page, where a tab begins, may not store anything: Firefox would report that as an error of the page.
  const keep = `sessionStorage.setItem('dragoman.key', ${JSON.stringify(key)})`
  if (key !== undefined) await context.addInitScript(`if (location.protocol.startsWith('http')) ${keep}`)
  const page = await context.newPage()
  // So WebKit reports a request to the page's own server that a reload cuts off.
  const isCutOff = (message: string) =>
    browserName === 'webkit' && message.includes(host) && message.endsWith('due to access control checks.')
  page.on('pageerror', ({ message }) => {
    if (!isCutOff(message)) problems.push(message)
  })
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) problems.push(message.text())
  })
  await page.goto(url)
  return { page, context, strangers, problems, close: () => context.close() }
}
