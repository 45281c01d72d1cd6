import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { freePort } from '../../src/engine/llama-server/free-port.ts'
import { until } from '../support/http/app.ts'
import { chromium, openPage, type Page } from '../support/process/browser.ts'
import { testTools } from '../support/process/test-tools.ts'
import type { Connection } from './connections.ts'

const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('./install.json', import.meta.url), 'utf8')))
/** Where scripts/installers/sillytavern.mjs installs it. */
export const tavernFolder = join(testTools, `sillytavern-${version}`)

/** Why tests of SillyTavern are skipped, for their names; empty if they can run. */
export const tavernHint = existsSync(join(tavernFolder, 'data'))
  ? chromium === undefined
    ? ' (skipped: install chromium)'
    : ''
  : ' (skipped: install it with `npm run sillytavern`)'

const reply = z.object({ text: z.string(), swipes: z.array(z.string()), errors: z.array(z.string()) })
const probabilities = z.object({ tokens: z.array(z.string()), candidates: z.array(z.string()) })

/**
 * SillyTavern's server with data of its own, and its page in Chromium, in a chat with the character that it comes with. `folder` has its
 * installation, and `data` to begin with where it has run before.
 */
export async function openTavern(folder: string) {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-sillytavern-'))
  const data = join(home, 'data')
  if (existsSync(join(folder, 'data'))) await cp(join(folder, 'data'), data, { recursive: true })
  const config = join(home, 'config.yaml')
  await writeFile(config, 'whitelistDockerHosts: false\nbackups:\n  chat:\n    enabled: false\n')
  // It does not say which port it got.
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const server = spawn(process.execPath, serverArgs({ folder, data, config, port }), { stdio: 'ignore' })
  // The browser ends with this process, because its pipe does.
  process.once('exit', () => server.kill())
  let page: Page | undefined
  const close = async () => {
    await page?.close()
    await end(server)
    // Processes of the browser may still write.
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    // It compiles the page when it starts for the first time.
    await until(() => server.exitCode !== null || isServed(url), 180_000)
    page = await openPage(url, join(home, 'profile'))
    await page.settles(`document.querySelector('#send_textarea') !== null && document.querySelector('#preloader') === null`)
    await page.evaluate(readFileSync(new URL('./in-page.js', import.meta.url), 'utf8'))
    await page.evaluate("tavern.open('Seraphina')")
    return { ...controlsOf(page), close }
  } catch (error) {
    await close()
    throw error
  }
}

function controlsOf(page: Page) {
  const call = (name: string, ...args: unknown[]) =>
    page.evaluate(`tavern.${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`)
  return {
    /** Chooses a connection, and waits until the page shows that it is connected to this model. */
    connect: ({ changes, button, list, nameOf, status }: Connection, server: { url: string; model: string }) =>
      call('connect', {
        changes: changes(server.url),
        button,
        status: status ?? nameOf(server.model),
        list,
        model: nameOf(server.model),
      }),
    /** What the user wishes of the replies that come. */
    wish: async ({ streaming }: Connection, wishes: { streams: boolean; probabilities: boolean }) => {
      await call('check', streaming, wishes.streams)
      await call('check', '#request_token_probabilities', wishes.probabilities)
    },
    newChat: () => call('newChat'),
    send: async (text: string) => reply.parse(await call('send', text)),
    swipe: async () => reply.parse(await call('swipe')),
    stop: async (text: string, shown: string) => reply.parse(await call('stop', text, shown)),
    probabilities: async () => probabilities.parse(await call('probabilities')),
  }
}

function isServed(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** The arguments for Node.js. Requests to other machines lead nowhere. */
function serverArgs(paths: { folder: string; data: string; config: string; port: number }): string[] {
  const options = {
    dataRoot: paths.data,
    configPath: paths.config,
    port: String(paths.port),
    browserLaunchEnabled: 'false',
    requestProxyEnabled: 'true',
    requestProxyUrl: 'http://127.0.0.1:9',
  }
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  return [join(paths.folder, 'node_modules', 'sillytavern', 'server.js'), ...flags, '--requestProxyBypass', '127.0.0.1']
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await closed
}
