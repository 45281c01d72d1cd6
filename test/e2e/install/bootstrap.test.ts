import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { isAlive } from '../../support/process/is-alive.ts'
import { hasTmux, openTmux } from '../../support/process/tmux.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

type Packages = Readonly<Record<string, unknown>>

/** Stands for npm: writes down its process and one that it starts, as npm starts others, and does not end by itself. */
const endlessNpm = `
  const { spawn } = require('node:child_process')
  const { appendFileSync } = require('node:fs')
  process.on('SIGINT', () => undefined)
  const other = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'])
  appendFileSync(process.env.PIDS, process.pid + ' ' + other.pid + '\\n')
  setInterval(() => undefined, 1000)
`

async function createCheckout() {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-checkout-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await cp(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true })
  await mkdir(join(folder, 'src'))
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']) {
    await cp(join(root, name), join(folder, name))
  }
  const npm = join(folder, 'npm', 'npm.js')
  await mkdir(join(folder, 'npm'))
  await writeFile(join(folder, 'npm', 'package.json'), '{"type": "commonjs"}')
  await writeFile(npm, endlessNpm)
  const pids = join(folder, 'pids')
  await writeFile(pids, '')
  /** The processes of each install so far. */
  const installs = async () => {
    const lines = (await readFile(pids, 'utf8')).split('\n').filter((line) => line !== '')
    return lines.map((line) => line.split(' ').map(Number))
  }
  const start = () => {
    const env = { ...process.env, npm_execpath: npm, PIDS: pids }
    const child = spawn(process.execPath, ['scripts/start.mjs'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    let text = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    return Object.assign(child, { err: () => text })
  }
  onTestFinished(async () => {
    for (const pid of (await installs()).flat()) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  return { folder, npm, installs, start }
}

async function codeOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

test.skipIf(process.platform === 'win32').each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s during the install ends all of it, and the next start installs again', async (signal, expected) => {
  const { installs, start } = await createCheckout()
  const first = start()
  await until(async () => (await installs()).length === 1)
  first.kill(signal)
  expect(await codeOf(first)).toBe(expected)
  const [processes = []] = await installs()
  expect(processes).toHaveLength(2)
  await until(() => !processes.some(isAlive))

  const second = start()
  await until(async () => (await installs()).length === 2)
  second.kill('SIGTERM')
  await codeOf(second)
})

test.each([
  ['is kept', 0, (packages: Packages) => packages],
  ['is replaced where it lacks a package', 1, ({ 'node_modules/zod': _, ...others }: Packages) => others],
])('what `npm ci` has installed %s', async (_, expected, change) => {
  const { folder, installs, start } = await createCheckout()
  const { packages } = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as { packages: Packages }
  await mkdir(join(folder, 'node_modules'))
  const record = { packages: change(packages) }
  await writeFile(join(folder, 'node_modules', '.package-lock.json'), JSON.stringify(record))
  const child = start()
  // There is no compiler: what comes after the install fails.
  if (expected === 0) expect([await codeOf(child), child.err()]).toEqual([1, expect.stringContaining('the build failed')])
  else await until(async () => (await installs()).length === 1)
  expect(await installs()).toHaveLength(expected)
  child.kill('SIGTERM')
})

test.skipIf(!hasTmux)('what is being done stays on one line of a narrow terminal', async () => {
  const { folder, npm } = await createCheckout()
  const env = { npm_execpath: npm, PIDS: join(folder, 'pids'), N: process.execPath }
  const terminal = await openTmux({ columns: 30, cwd: folder, env })
  terminal.enter('$N scripts/start.mjs')
  await terminal.shows(/, 3 s/)
  expect(terminal.screen().match(/dragoman: installing/g)).toHaveLength(1)
  terminal.key('C-c')
})

test.skipIf(process.platform === 'win32')('an install that outlived its killed start is waited for', async () => {
  const { installs, start } = await createCheckout()
  const first = start()
  await until(async () => (await installs()).length === 1)
  first.kill('SIGKILL')
  await codeOf(first)
  const second = start()
  const [processes = []] = await installs()
  await until(() => second.err().includes('waiting for another command'))
  expect(await installs()).toHaveLength(1)
  for (const pid of processes) process.kill(pid, 'SIGKILL')
  await until(async () => (await installs()).length === 2)
  second.kill('SIGTERM')
  await codeOf(second)
})
