import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../src/registry/builtin-model.ts'
import { until } from '../support/app.ts'
import { buildProgram, builtProgram as program } from '../support/built-program.ts'
import { encodeGguf } from '../support/gguf-writer.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { dataOf, openChat } from '../support/raw-client.ts'
import { hasTerminal, inTerminal } from '../support/terminal.ts'

const nowhere = 'http://127.0.0.1:9'

let home: string
let config: string
beforeAll(async () => {
  buildProgram()
  home = await mkdtemp(join(tmpdir(), 'dragoman-cli-'))
  config = join(home, 'dragoman.yaml')
  await writeFile(config, 'models:\n  - { id: scripted, engine: fake, script: from-request, aliases: [default] }\n')
})
/** A test that fails leaves its servers to this. */
const launched = new Set<Running>()
afterEach(async () => {
  for (const { child, ended } of launched) {
    child.kill('SIGKILL')
    await ended
  }
})
afterAll(() => rm(home, { recursive: true, force: true }))

type Running = { child: ChildProcess; out: () => string; err: () => string; ended: Promise<number | null> }

function start(args: readonly string[], env: Record<string, string> = {}): Running {
  const running = launch([process.execPath, program, ...args], env)
  running.child.stdin?.end()
  return running
}

if (!hasTerminal) console.warn('conversations in a terminal are not tested: there is no python3 with pty')

/** Runs the command in a terminal: what is written to its standard input are keys, and all that it shows is `out`. */
function startOnTerminal(args: readonly string[]): Running & { type(keys: string): void } {
  const terminal = { TERM: 'xterm', NO_COLOR: '' }
  const running = launch(inTerminal([process.execPath, program, ...args]), terminal)
  return { ...running, type: (keys) => void running.child.stdin?.write(keys) }
}

function launch([command = '', ...args]: readonly string[], env: Record<string, string>): Running {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, DRAGOMAN_HOME: home, DRAGOMAN_SERVER: nowhere, ...env },
  })
  const texts = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    texts.out += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    texts.err += piece
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const running = { child, out: () => texts.out, err: () => texts.err, ended }
  launched.add(running)
  void ended.then(() => launched.delete(running))
  return running
}

async function written(folder: string, bytes: Buffer): Promise<string> {
  const file = join(folder, 'broken.gguf')
  await writeFile(file, bytes)
  return file
}

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const running = start(args, env)
  const code = await running.ended
  return { code, out: running.out(), err: running.err() }
}

async function serve(args: readonly string[] = [], env: Record<string, string> = {}) {
  const server = start(['serve', '--config', config, '--port', '0', '--log-level', 'warn', ...args], env)
  await until(() => server.out().includes('\n') || server.child.exitCode !== null, 30_000)
  const port = /:(\d+)$/m.exec(server.out().trim())?.[1]
  return { ...server, url: `http://127.0.0.1:${port}` }
}

/** The texts of the log: without a terminal, notices are entries of it, one JSON object per line. */
function noticesOf(err: string): string {
  const lines = err.split('\n').slice(0, -1)
  return lines.map((line) => String(JSON.parse(line).msg)).join('\n')
}

describe('dragoman serve', () => {
  test('prints one line on standard output, and a request to try when the model is ready', async () => {
    const server = await serve()
    await until(() => server.err().includes('Try it'))
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(server.out()).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+\n$/)
    expect(server.err()).toContain('/v1/chat/completions')
  })

  test.each(['SIGTERM', 'SIGHUP'] as const)('%s lets running requests end, refuses others, and exits with 0', async (signal) => {
    const server = await serve()
    const content = JSON.stringify({ chunks: ['one', 'two', 'three'], delayMs: 150 })
    const stream = openChat(server.url, { model: 'scripted', stream: true, messages: [{ role: 'user', content }] })
    await stream.untilText('one')
    // A service manager and our own scripts may both send it.
    server.child.kill(signal)
    server.child.kill(signal)
    await until(async () => (await fetch(`${server.url}/ready`)).status === 503)
    expect(await (await fetch(`${server.url}/ready`)).json()).toMatchObject({ status: 'draining' })
    await stream.ended
    expect(stream.text()).toContain('three')
    expect(stream.text().endsWith('data: [DONE]\n\n')).toBe(true)
    expect(dataOf(stream.text()).some((event) => event.error !== undefined)).toBe(false)
    expect(await server.ended).toBe(0)
  })

  test('reachable from elsewhere it makes a key, shows it once, and asks for it', async () => {
    const first = await serve(['--host', '0.0.0.0'])
    await until(() => first.err().includes('Bearer'))
    const key = /sk-dragoman-\w+/.exec(noticesOf(first.err()))?.[0] ?? ''
    expect((await fetch(`${first.url}/v1/models`)).status).toBe(401)
    expect((await fetch(`${first.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200)
    first.child.kill('SIGTERM')
    await first.ended

    const second = await serve(['--host', '0.0.0.0'])
    expect((await fetch(`${second.url}/v1/models`, { headers: { 'x-api-key': key } })).status).toBe(200)
    second.child.kill('SIGTERM')
    await second.ended
    expect(second.err() + second.out()).not.toContain('sk-dragoman-')
  })

  test('the request to try works as it is printed, at the first start and at later ones', async () => {
    const folder = await mkdtemp(join(home, 'try-'))
    // What the README's reader has on the PATH.
    const bin = join(folder, 'dragoman')
    await writeFile(bin, `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`, { mode: 0o755 })
    const PATH = `${folder}:${process.env.PATH}`
    for (let turn = 0; turn < 2; turn += 1) {
      const server = await serve(['--host', '0.0.0.0'], { DRAGOMAN_HOME: folder, DRAGOMAN_COMMAND: 'dragoman' })
      await until(() => server.err().includes('-d '))
      const printed = noticesOf(server.err()).split('Try it:')[1] ?? ''
      const shell = launch(['sh', '-c', printed], { DRAGOMAN_HOME: folder, PATH })
      await shell.ended
      server.child.kill('SIGTERM')
      await server.ended
      expect(shell.out()).toContain('data: [DONE]')
    }
  })

  test('keys are made, listed and deleted while the server runs, with their scopes', async () => {
    const server = await serve(['--host', '0.0.0.0'])
    const status = async (key: string, path: string) =>
      (await fetch(`${server.url}${path}`, { headers: { 'x-api-key': key } })).status
    const key = (await run(['keys', 'new', '--name', 'laptop', '--models', 'default', '--expires', '2099-12-31'])).out.trim()
    const admin = (await run(['keys', 'new', '--scope', 'admin', 'inference'])).out.trim()
    expect(await status(key, '/v1/models')).toBe(200)
    expect(await status(key, '/metrics')).toBe(403)
    expect(await status(admin, '/metrics')).toBe(200)
    const listed = await run(['keys', 'list'])
    expect(listed.out).toMatch(/^ID +NAME +SCOPES +MODELS +EXPIRES +CREATED\n/)
    expect(listed.out).toMatch(/^[0-9a-f]{8} +laptop +inference +default +2099-12-31 00:00 +\d{4}-\d\d-\d\d$/m)
    expect(listed.out).not.toContain('sk-')
    await run(['keys', 'delete', 'laptop'])
    expect(await status(key, '/v1/models')).toBe(401)
    expect(await run(['keys', 'new', '--scope', 'root'])).toMatchObject({
      code: 1,
      err: "dragoman: --scope: 'root' is not a scope; it is one of: inference, metrics, admin\n",
    })
    server.child.kill('SIGTERM')
    await server.ended
  })

  test.each<[string, (folder: string) => Promise<string>, RegExp]>([
    ['that does not exist', async (folder) => join(folder, 'none.gguf'), /none\.gguf: there is no such file$/],
    ['that is a folder', async (folder) => folder, /this is a folder; name a \.gguf file in it$/],
    ['of random bytes', (folder) => written(folder, randomBytes(5000)), /this is not a GGUF file$/],
    [
      'that was truncated',
      async (folder) => written(folder, (await readFile(builtinModel.path)).subarray(0, 2_000_000)),
      /the file is 2\.0 MB of 4\.6 MB \(bytes missing: \d+\): it was truncated; fetch it again$/,
    ],
    [
      'that llama.cpp refuses',
      (folder) => written(folder, encodeGguf(new Map([['general.architecture', { type: 'string', value: 'none' }]]), [])),
      /loaded: ./,
    ],
  ])('a model %s ends it with the reason', async (_, make, reason) => {
    const result = await run(['serve', '--port', '0', '--model', await make(home), '--log-level', 'error'])
    expect(result.code).toBe(1)
    expect(noticesOf(result.err)).toMatch(reason)
    expect(noticesOf(result.err)).toMatch(/^model '[^']+' could not be loaded: [^\n]+$/)
  })

  test('a port that is taken is one clear line', async () => {
    const server = await serve()
    const second = await run(['serve', '--config', config, '--port', new URL(server.url).port])
    expect(second).toMatchObject({ code: 1, out: '' })
    expect(noticesOf(second.err)).toMatch(/^port \d+ .* is in use[^\n]*$/)
    server.child.kill('SIGTERM')
    await server.ended
  })

  test('an address that is not of this machine is one clear line', async () => {
    // Reserved for documentation, so no machine has it.
    const result = await run(['serve', '--config', config, '--host', '192.0.2.1', '--port', '0'], { DRAGOMAN_API_KEY: 'k' })
    expect(result).toMatchObject({ code: 1, out: '' })
    expect(noticesOf(result.err)).toMatch(/^192\.0\.2\.1 is not an address [^\n]*$/)
  })

  test('the request to try names a model that is ready, and there is none without one', async () => {
    const lazy = '{ id: lazy, engine: fake, script: from-request, load: demand }'
    const mixed = join(home, 'mixed.yaml')
    await writeFile(mixed, `models: [${lazy}, { id: eager, engine: fake, script: from-request }]\n`)
    const withReady = await serve(['--config', mixed])
    await until(() => withReady.err().includes('Try it'))
    withReady.child.kill('SIGTERM')
    await withReady.ended
    expect(withReady.err()).toContain('eager is ready. Try it')

    const onDemand = join(home, 'on-demand.yaml')
    await writeFile(onDemand, `models: [${lazy}]\n`)
    const withNone = await serve(['--config', onDemand])
    withNone.child.kill('SIGTERM')
    expect(await withNone.ended).toBe(0)
    expect(withNone.err()).not.toContain('Try it')
  })

  test('a store that cannot be opened ends it with the reason, without a password', async () => {
    const result = await run(['serve', '--config', config], { DRAGOMAN_STORAGE: 'postgres://ann:secret@127.0.0.1:1/kept' })
    expect(result.code).toBe(1)
    expect(JSON.parse(result.err)).toMatchObject({
      code: 'invalid-request',
      msg: expect.stringMatching(/the store 'postgres:\/\/ann@127\.0\.0\.1:1\/kept' cannot be opened: .*ECONNREFUSED.*`off`/),
    })
    expect(result.err).not.toContain('secret')
  })

  test('a mistake in the configuration names the nearest key', async () => {
    const wrong = join(home, 'wrong.yaml')
    await writeFile(wrong, 'sever: { port: 1 }\n')
    const result = await run(['serve', '--config', wrong])
    expect(result.code).toBe(1)
    expect(JSON.parse(result.err)).toMatchObject({
      level: 60,
      code: 'invalid-request',
      msg: expect.stringMatching(/sever.*server/),
    })
  })
})

describe('dragoman run', () => {
  test('answers on standard output, without a server', async () => {
    const result = await run(['run', 'scripted', '{"chunks":["Hel","lo"]}', '--config', config])
    expect(result).toMatchObject({ code: 0, out: 'Hello\n' })
  })

  test('asks the running server when it has the model', async () => {
    const server = await serve()
    const result = await run(['run', 'default', 'echo me', '--server', server.url])
    server.child.kill('SIGTERM')
    await server.ended
    expect(result).toMatchObject({ code: 0, out: 'echo me\n' })
  })

  test('answers without a server when a key is configured', async () => {
    const result = await run(['run', 'scripted', 'echo me', '--config', config], { DRAGOMAN_API_KEY: 'k' })
    expect(result).toMatchObject({ code: 0, out: 'echo me\n' })
  })

  test('says that a server refuses the key, rather than loading the model a second time', async () => {
    const server = await serve([], { DRAGOMAN_API_KEY: 'k' })
    const result = await run(['run', 'scripted', 'hi', '--config', config, '--server', server.url])
    server.child.kill('SIGTERM')
    await server.ended
    expect(result).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^dragoman: the server at \S+ asks for an API key: set DRAGOMAN_API_KEY .*\n$/),
    })
  })

  test('says when an answer was truncated', async () => {
    const cut = await run(['run', 'scripted', '{"chunks":["Hel"],"finish":"length"}', '--config', config])
    expect(cut).toMatchObject({ code: 0, out: 'Hel\n', err: expect.stringContaining('(truncated: the token limit') })
    const whole = await run(['run', 'scripted', 'Hello', '--config', config])
    expect(whole.err).not.toContain('truncated')
  })

  test.skipIf(!hasTerminal)('in a conversation Ctrl-C stops the answer, and after it the conversation', async () => {
    const replies = join(home, 'replies.yaml')
    const scripted = join(home, 'replies-config.yaml')
    const slow = `{ raw: "begun ${'. '.repeat(20)}ended", delayMs: 400 }`
    await writeFile(replies, `- match: again\n  reply: { raw: "still here" }\n- reply: ${slow}\n`)
    await writeFile(scripted, `models: [{ id: scripted, engine: fake, script: ${replies} }]\n`)
    const running = startOnTerminal(['run', 'scripted', '--config', scripted])
    const asksAgainAfter = (text: string) => running.out().split(text)[1]?.includes('> ') === true
    await until(() => asksAgainAfter('Ctrl-D'), 30_000)
    running.type('hi\r')
    await until(() => running.out().includes('begun'))
    running.type('\u0003')
    await until(() => asksAgainAfter('begun'))
    running.type('again\r')
    await until(() => asksAgainAfter('still here'))
    running.type('\u0003')
    expect(await running.ended).toBe(0)
    expect(running.out()).not.toContain('ended')
  })

  test.skipIf(!hasTerminal)('reasoning is shown as it comes, apart from the answer', async () => {
    const template = join(home, 'thinking.jinja')
    const thinking = join(home, 'thinking.yaml')
    const reasoning = '{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}'
    await writeFile(template, `{% for m in messages %}${reasoning}{{ m.content }}{% endfor %}`)
    await writeFile(thinking, `models: [{ id: scripted, engine: fake, script: from-request, chatTemplate: ${template} }]\n`)
    const running = startOnTerminal(['run', 'scripted', '{"raw":"<think>Hm</think>42"}', '--config', thinking])
    expect(await running.ended).toBe(0)
    expect(running.out().replaceAll('\r', '')).toBe('\u001B[2mHm\u001B[22m\n42\n')
  })

  test.skipIf(!hasTerminal)('an unknown model is named before a prompt is shown', async () => {
    const running = startOnTerminal(['run', 'nonesuch', '--config', config])
    expect(await running.ended).toBe(1)
    expect(running.out()).toContain("model 'nonesuch' not found")
    expect(running.out()).not.toContain('> ')
  })

  test.skipIf(!hasTerminal)('commands of a conversation are not sent to the model', async () => {
    const running = startOnTerminal(['run', 'scripted', '--config', config])
    await until(() => running.out().includes('> '), 30_000)
    running.type('/help\r')
    await until(() => running.out().includes('/system TEXT'))
    running.type('/hlep\r')
    await until(() => running.out().includes('there is no command /hlep'))
    running.type('{"chunks":["Hel","lo there"]}\r')
    await until(() => running.out().includes('Hello there'))
    running.type('/bye\r')
    expect(await running.ended).toBe(0)
  })

  test.skipIf(!hasTerminal)('Ctrl-D ends a conversation', async () => {
    const running = startOnTerminal(['run', 'scripted', '--config', config])
    await until(() => running.out().includes('> '), 30_000)
    running.type('\u0004')
    expect(await running.ended).toBe(0)
  })

  test('Ctrl-C stops the answer', async () => {
    const running = start(['run', 'scripted', '{"chunks":["a","b","c","d","e","f","g","h"],"delayMs":400}', '--config', config])
    await until(() => running.out().includes('a'), 30_000)
    running.child.kill('SIGINT')
    expect(await running.ended).toBe(130)
    expect(running.out()).not.toContain('h')
  })

  test('ends quietly when nobody reads on', async () => {
    const running = start(['run', 'scripted', '{"chunks":["a","b","c","d","e","f"],"delayMs":200}', '--config', config])
    await until(() => running.out().includes('a'), 30_000)
    running.child.stdout?.destroy()
    await running.ended
    expect(running.err()).not.toContain('EPIPE')
  })

  test('an unknown model is one clear line', async () => {
    const result = await run(['run', 'nonesuch', 'hi', '--config', config])
    expect(result).toMatchObject({ code: 1, err: expect.stringContaining("model 'nonesuch' not found") })
  })
})

describe('the other commands', () => {
  test('list shows the models of the server, or says that there is none', async () => {
    const server = await serve()
    const listed = await run(['list', '--server', server.url])
    server.child.kill('SIGTERM')
    await server.ended
    expect(listed.out).toMatch(/MODEL +STATE +CONTEXT +ALIASES\nscripted +ready +- +default/)
    expect(await run(['list', '--server', nowhere])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/cannot be reached: .+; `dragoman serve` starts one/),
    })
  })

  test('doctor looks at everything, and passes on a machine that can serve', async () => {
    const hub = await listenOnLoopback((_, response) => response.end())
    const result = await run(['doctor', '--config', config], { HF_ENDPOINT: hub.origin })
    await hub.close()
    expect(result.code).toBe(0)
    for (const name of ['Node.js', 'llama.cpp', 'configuration', 'models folder', 'store', 'pip', 'Hugging Face', 'server']) {
      expect(result.out).toMatch(new RegExp(`^[✓!] ${name}`, 'm'))
    }
  })

  test('doctor fails on a configuration that is wrong', async () => {
    const wrong = join(home, 'wrong2.yaml')
    await writeFile(wrong, 'models: 5\n')
    const result = await run(['doctor', '--config', wrong], { HF_ENDPOINT: nowhere })
    expect(result).toMatchObject({ code: 1, out: expect.stringMatching(/^✗ configuration/m) })
  })

  test('config --schema prints a JSON Schema', async () => {
    const { out } = await run(['config', '--schema'])
    expect(JSON.parse(out)).toMatchObject({ type: 'object', properties: { server: {}, models: {} } })
  })

  test('pull prints where a local model is', async () => {
    const file = join(home, 'tiny.gguf')
    await writeFile(file, encodeGguf(new Map(), []))
    expect(await run(['pull', file])).toMatchObject({ code: 0, out: `${file}\n` })
  })
})
