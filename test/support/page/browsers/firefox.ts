import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, firefox as launcher } from 'playwright-core'

/** Where Firefox is installed; undefined if it is not. */
export const firefox = ['/usr/bin/firefox-esr'].find((path) => existsSync(path))

/** A Firefox without a window. Media features are preferences: its WebDriver BiDi does not have them. */
export async function openFirefox(): Promise<Browser> {
  const browser = await launcher.launch({
    channel: 'moz-firefox',
    executablePath: join(dirname(fileURLToPath(import.meta.url)), 'firefox-beside.mjs'),
    firefoxUserPrefs: {
      'ui.prefersReducedMotion': 1,
      'dom.events.testing.asyncClipboard': true,
      'network.captive-portal-service.enabled': false,
      'network.connectivity-service.enabled': false,
    },
  })
  const newContext = browser.newContext.bind(browser)
  browser.newContext = ({ permissions: _, ...options } = {}) => newContext(options)
  return browser
}
