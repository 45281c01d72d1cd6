import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from '../../support/http/app.ts'
import { buildProgram, builtProgram } from '../../support/process/built-program.ts'
import { hasTerminal, inTerminal } from '../../support/process/terminal.ts'

/**
 * Says what it was started with, reads the file that its settings name, and ends with 7; or waits for SIGTERM or for a key, and counts how
 * often it is interrupted.
 */
const standIn = `#!${process.execPath}
const { readFileSync, statSync } = require('node:fs')
const args = process.argv.slice(2)
const file = args[args.indexOf('--settings') + 1]
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: model } = process.env
const mode = (statSync(file).mode & 0o777).toString(8)
if (args.includes('wait')) {
  let interrupts = 0
  process.on('SIGINT', () => console.log('interrupts: ' + ++interrupts))
  process.on('SIGTERM', () => process.exit(42))
  process.stdin.once('data', () => process.exit(20 + interrupts))
  setInterval(() => undefined, 1000)
} else process.exitCode = 7
// Once it is ready for signals.
console.log(JSON.stringify({ args, url, key, model, file, mode, settings: JSON.parse(readFileSync(file, 'utf8')) }))
`

let app: RunningApp
let home: string
beforeAll(async () => {
  buildProgram()
  app = await startApp({
    server: { apiKeys: ['the-key'] },
    models: [
      { id: 'small', engine: 'fake', script: 'from-request', contextLength: 4096 },
      { id: 'org/large', engine: 'fake', script: 'from-request', contextLength: 100_000, aliases: ['default'] },
    ],
  })
  home = await mkdtemp(join(tmpdir(), 'dragoman-launch-test-'))
  await writeFile(join(home, 'claude'), standIn)
  await chmod(join(home, 'claude'), 0o755)
})
afterAll(async () => {
  await app.close()
  await rm(home, { recursive: true, force: true })
})

function start(args: readonly string[], env: Record<string, string> = {}, wrap = (command: readonly string[]) => command) {
  const path = [home, process.env.PATH].join(delimiter)
  const [file = '', ...rest] = wrap([process.execPath, builtProgram, 'launch', ...args])
  const child = spawn(file, rest, {
    env: { ...process.env, PATH: path, TMPDIR: home, DRAGOMAN_SERVER: app.url, DRAGOMAN_API_KEY: 'the-key', ...env },
  })
  const texts = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    texts.out += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    texts.err += piece
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, texts, ended }
}

async function launch(args: readonly string[], env: Record<string, string> = {}) {
  const { child, texts, ended } = start(args, env)
  child.stdin.end()
  return { code: await ended, ...texts }
}

describe('dragoman launch', () => {
  test("starts the agent with the server's address, default model and key, the user's arguments, and passes on its exit code", async () => {
    const { code, out, err } = await launch(['claude', '--', '-p', 'two words', '--model'])
    const got = JSON.parse(out)
    expect(got).toMatchObject({ url: app.url, key: 'the-key', model: 'org/large', mode: '600' })
    expect(got.args).toEqual(['--settings', got.file, '-p', 'two words', '--model'])
    expect(got.settings.env).toMatchObject({ ANTHROPIC_BASE_URL: app.url, CLAUDE_CODE_MAX_CONTEXT_TOKENS: '100000' })
    expect(err).toBe('')
    expect(code).toBe(7)
  })

  test('takes another model, and warns where its context is too small for the agent', async () => {
    const { out, err } = await launch(['claude', '--model', 'small'])
    expect(JSON.parse(out)).toMatchObject({ model: 'small' })
    expect(err).toMatch(/^dragoman: the context of small is 4096 tokens, and Claude Code needs at least \d+/)
  })

  test('removes its folder, also after a signal, which it passes on', async () => {
    const { child, texts, ended } = start(['claude', '--', 'wait'])
    await until(() => texts.out.endsWith('\n'))
    expect((await readdir(home)).filter((name) => name.startsWith('dragoman-launch-'))).toHaveLength(1)
    child.kill('SIGTERM')
    expect(await ended).toBe(42)
    expect((await readdir(home)).filter((name) => name.startsWith('dragoman-launch-'))).toEqual([])
  })

  test.skipIf(!hasTerminal)('on a terminal, leaves Ctrl-C to the agent, which gets it once, and the keys', async () => {
    const { child, texts, ended } = start(['claude', '--', 'wait'], {}, inTerminal)
    await until(() => texts.out.includes('}'))
    child.stdin.write('\u0003')
    await until(() => texts.out.includes('interrupts: 1'))
    child.stdin.write('q\r')
    expect(await ended).toBe(21)
  })

  test.skipIf(!hasTerminal).each([
    ['y', 'y\r', 'installed with install --global @qwen-code/qwen-code', 9],
    ['n', 'n\r', '`npm install --global @qwen-code/qwen-code` installs it', 1],
    ['Ctrl-C', '\u0003', 'dragoman: Qwen Code is not installed', 1],
    ['Ctrl-D', '\u0004', 'dragoman: Qwen Code is not installed', 1],
  ])('on a terminal, offers to install an agent that is missing: %s', async (_, keys, shown, code) => {
    const folder = await mkdtemp(join(home, 'path-'))
    const npm = `#!/bin/sh\nprintf '#!/bin/sh\\necho "installed with %s"\\nexit 9\\n' "$*" > ${folder}/qwen\n/bin/chmod 755 ${folder}/qwen\n`
    await writeFile(join(folder, 'npm'), npm, { mode: 0o755 })
    const { child, texts, ended } = start(['qwen'], { PATH: folder }, (command) => {
      const [python = '', ...rest] = inTerminal(command)
      return [`/usr/bin/${python}`, ...rest]
    })
    await until(() => texts.out.includes('[y/N]'))
    child.stdin.write(keys)
    expect(await ended).toBe(code)
    expect(texts.out).toContain(shown)
  })

  test('--print shows files, environment and command, without the key, and starts nothing', async () => {
    const { code, out } = await launch(['pi', '--protocol', 'messages', '--print', '--', '-p', "it's"])
    expect(out).toContain('"api": "anthropic-messages"')
    expect(out).toContain("export DRAGOMAN_LAUNCH_KEY='***'")
    expect(out).toMatch(/^pi --extension \S+\/extension\.js --provider dragoman --model org\/large -p 'it'\\''s'$/m)
    expect(out).not.toContain('the-key')
    expect(code).toBe(0)
  })

  test.each([
    ['an agent that is not known', ['emacs'], {}, "'emacs' is not an agent that can be launched: claude, codex"],
    ['an agent that is not installed', ['qwen'], { PATH: '/nowhere' }, '`npm install --global @qwen-code/qwen-code` installs it'],
    [
      'a protocol that the agent does not speak',
      ['claude', '--protocol', 'chat'],
      {},
      "does not speak 'chat'; --protocol is one of: messages",
    ],
    ['a model that is not there', ['claude', '--model', 'x'], {}, "the server has no model 'x'; available: small, org/large"],
    [
      'a server that does not run',
      ['claude', '--server', 'http://127.0.0.1:9'],
      {},
      'no server runs at http://127.0.0.1:9: `dragoman serve`',
    ],
    ['a key that is wrong', ['claude'], { DRAGOMAN_API_KEY: 'x' }, 'does not accept the key in DRAGOMAN_API_KEY'],
  ])('explains %s', async (_, args, env, message) => {
    const { code, err } = await launch(args, env)
    expect(err).toContain(message)
    expect(code).toBe(1)
  })
})
