import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { stepsOf } from '../../support/guides/guide.ts'
import { packInto } from '../../support/process/packed.ts'
import { isFullLength, nightlyHint } from '../../support/process/soak-length.ts'
import { installedFrom } from '../../support/process/test-tools.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const installed = installedFrom('nextjs', new URL('../../nextjs/package.json', import.meta.url))
const isInstalled = existsSync(installed)
const hint = isInstalled ? '' : ' (skipped: install it with `npm run nextjs`)'
const next = join(installed, 'node_modules/next/dist/bin/next')

describe.skipIf(!isInstalled || !isFullLength)(`Next.js, as the guide has it${hint || nightlyHint}`, () => {
  let folder: string
  // Below the packages, as Next.js builds nothing that lies outside of its root.
  beforeAll(async () => {
    folder = mkdtempSync(join(installed, 'application-'))
    const modules = join(folder, 'node_modules')
    mkdirSync(join(modules, 'dragoman'), { recursive: true })
    const tarball = await packInto(folder)
    await run('tar', ['-xzf', tarball, '-C', join(modules, 'dragoman'), '--strip-components=1'])
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const name of Object.keys(dependencies)) {
      mkdirSync(dirname(join(modules, name)), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
    }
    const write = (file: string, text: string) => {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    const steps = stepsOf(readFileSync(join(root, 'docs/guides/in-your-server.md'), 'utf8'))
    for (const step of steps) if (step.type === 'write' && step.file.endsWith('.ts')) write(step.file, step.text)
    write('package.json', '{ "private": true, "type": "module" }')
    write(
      'app/layout.tsx',
      'export default ({ children }: { children: React.ReactNode }) => <html><body>{children}</body></html>',
    )
    const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', DRAGOMAN_HOME: join(folder, 'home') }
    await run(process.execPath, [next, 'build'], { cwd: folder, env })
  }, 300_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('it builds, answers, streams, and leaves preflights to Dragoman', { timeout: 60_000 }, async () => {
    const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1', DRAGOMAN_HOME: join(folder, 'home') }
    const server = spawn(process.execPath, [next, 'start', '--port', '0'], { cwd: folder, env })
    onTestFinished(async () => {
      server.kill()
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
    })
    const url = await addressOf(server)
    const ask = (body: object) =>
      fetch(`${url}/llm/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'hi there' }], ...body }),
      })
    expect(await (await ask({})).json()).toMatchObject({ choices: [{ message: { content: 'hi there' } }] })
    expect(await (await ask({ stream: true })).text()).toMatch(/"content":"hi".*"content":" there".*data: \[DONE\]/s)
    const headers = { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' }
    // Next.js itself would answer any preflight with 204.
    expect((await fetch(`${url}/llm/v1/chat/completions`, { method: 'OPTIONS', headers })).status).toBe(403)
    expect(readdirSync(join(folder, 'home'))).not.toContain('engines')
  })
})

/** The address that the server prints. What it prints later is read, too: a closed pipe would end it. */
function addressOf(server: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    server.stdout?.on('data', (chunk) => {
      text += String(chunk)
      const [url] = /http:\/\/localhost:\d+/.exec(text) ?? []
      if (url !== undefined) resolve(url)
    })
    server.stderr?.on('data', (chunk) => {
      text += String(chunk)
    })
    server.once('exit', () => reject(new Error(`it did not start: ${text}`)))
  })
}
