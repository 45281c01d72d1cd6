import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { until } from '../../support/http/app.ts'
import { dataOf, openChat } from '../../support/http/raw-client.ts'
import { upgradeRequest } from '../../support/http/web-socket-frames.ts'
import { encodeGguf } from '../../support/llama/gguf-writer.ts'
import { builtProgram as program } from '../../support/process/built-program.ts'
import { nowhere, useCommandLine } from '../../support/process/command-line.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const cli = useCommandLine()

async function written(folder: string, bytes: Buffer): Promise<string> {
  const file = join(folder, 'broken.gguf')
  await writeFile(file, bytes)
  return file
}

/** The texts of the log: without a terminal, notices are entries of it, one JSON object per line. */
function noticesOf(err: string): string {
  const lines = err.split('\n').slice(0, -1)
  return lines.map((line) => String(JSON.parse(line).msg)).join('\n')
}

describe('dragoman serve', () => {
  test('prints one line on standard output, and a request to try when the model is ready', async () => {
    const server = await cli.serve()
    await until(() => server.err().includes('Try it'))
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(server.out()).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+\n$/)
    expect(server.err()).toContain('/v1/chat/completions')
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('%s lets running requests end, refuses others, and exits with 0', async (signal) => {
    const server = await cli.serve()
    const content = JSON.stringify({ chunks: ['one', 'two', 'three'], delayMs: 500 })
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

  test('SIGTERM does not wait for a WebSocket whose client does not answer the close frame', async () => {
    const server = await cli.serve()
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(upgradeRequest())
    expect(String((await once(socket, 'data'))[0])).toContain('101 Switching Protocols')
    const startedMs = performance.now()
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    // The grace time for requests that run is 30 s.
    expect(performance.now() - startedMs).toBeLessThan(15_000)
    socket.destroy()
  })

  test('reachable from elsewhere it makes a key, shows it once, and asks for it', async () => {
    const first = await cli.serve(['--host', '0.0.0.0'])
    await until(() => first.err().includes('Bearer'))
    const key = /sk-dragoman-\w+/.exec(noticesOf(first.err()))?.[0] ?? ''
    expect((await fetch(`${first.url}/v1/models`)).status).toBe(401)
    expect((await fetch(`${first.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200)
    first.child.kill('SIGTERM')
    await first.ended

    const second = await cli.serve(['--host', '0.0.0.0'])
    expect((await fetch(`${second.url}/v1/models`, { headers: { 'x-api-key': key } })).status).toBe(200)
    second.child.kill('SIGTERM')
    await second.ended
    expect(second.err() + second.out()).not.toContain('sk-dragoman-')
  })

  test('the request to try works as it is printed, at the first start and at later ones', async () => {
    const folder = await mkdtemp(join(cli.home, 'try-'))
    // What the README's reader has on the PATH.
    const bin = join(folder, 'dragoman')
    await writeFile(bin, `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`, { mode: 0o755 })
    const PATH = `${folder}:${process.env.PATH}`
    for (let turn = 0; turn < 2; turn += 1) {
      const server = await cli.serve(['--host', '0.0.0.0'], { DRAGOMAN_HOME: folder, DRAGOMAN_COMMAND: 'dragoman' })
      await until(() => server.err().includes('-d '))
      const printed = noticesOf(server.err()).split('Try it:')[1] ?? ''
      const shell = cli.launch(['sh', '-c', printed], { DRAGOMAN_HOME: folder, PATH })
      await shell.ended
      server.child.kill('SIGTERM')
      await server.ended
      expect(shell.out()).toContain('data: [DONE]')
    }
  })

  test('keys are made, listed and deleted while the server runs, with their scopes', async () => {
    const server = await cli.serve(['--host', '0.0.0.0'])
    const status = async (key: string, path: string) =>
      (await fetch(`${server.url}${path}`, { headers: { 'x-api-key': key } })).status
    const key = (
      await cli.run([
        'keys',
        'new',
        '--name',
        'laptop',
        '--models',
        'default',
        '--rpm',
        '5',
        '--tpd',
        '9000',
        '--expires',
        '2099-12-31',
      ])
    ).out.trim()
    const admin = (await cli.run(['keys', 'new', '--scope', 'admin', 'inference'])).out.trim()
    const tools = ['--scope', 'inference', 'tools', '--tools', 'web_search', 'docs', '--tcpm', '9']
    await cli.run(['keys', 'new', '--name', 'agent', ...tools])
    expect(await status(key, '/v1/models')).toBe(200)
    expect(await status(key, '/metrics')).toBe(403)
    const listing = await fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    expect(listing.headers.get('x-ratelimit-remaining-requests')).toBe('5')
    expect(await status(admin, '/metrics')).toBe(200)
    const listed = await cli.run(['keys', 'list'])
    expect(listed.out).toMatch(/^ID +NAME +SCOPES +MODELS +TOOLS +LIMITS +GROUP +EXPIRES +CREATED +LAST USED\n/)
    expect(listed.out).toMatch(/^[0-9a-f]{8} +agent +inference, tools +all +web_search, docs +9 tcpm +- /m)
    expect(listed.out).toMatch(
      /^[0-9a-f]{8} +laptop +inference +default +none +5 rpm, 9000 tpd +- +2099-12-31 00:00 +\d{4}-\d\d-\d\d +-$/m,
    )
    expect(listed.out).not.toContain('sk-')
    await cli.run(['keys', 'delete', 'laptop'])
    expect(await status(key, '/v1/models')).toBe(401)
    expect(await cli.run(['keys', 'new', '--rpm', '0', '--scope', 'root', '--expires', 'soon'])).toMatchObject({
      code: 1,
      err: [
        "dragoman: --scope: 'root' is not a scope; it is one of: inference, tools, metrics, admin",
        "--expires: 'soon' is not a time; write it as 30d, 12h, 90m or 2030-12-31",
        "--rpm: '0' is not a limit; give a whole number, at least 1\n",
      ].join('\n'),
    })
    server.child.kill('SIGTERM')
    await server.ended
  })

  test('a server that cannot listen leaves no key behind', async () => {
    const taken = createServer().listen(0, '0.0.0.0')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const home = join(cli.home, 'fresh')
    try {
      for (const [host, at] of [
        ['999.1.1.1', 0],
        ['0.0.0.0', port],
      ])
        for (const workers of ['1', '2']) {
          const args = ['serve', '--config', cli.config, '--host', `${host}`, '--port', `${at}`, '--workers', workers]
          const { code, err } = await cli.run(args, { DRAGOMAN_HOME: home })
          expect([code, err.includes('sk-dragoman')]).toEqual([1, false])
        }
      expect((await cli.run(['keys', 'list'], { DRAGOMAN_HOME: home })).out).toMatch(/^ID .+\n$/)
    } finally {
      taken.close()
    }
  })

  test.each([{}, { DRAGOMAN_API_KEY: 'configured' }, { DRAGOMAN_ADMIN_KEY: 'configured' }])(
    'a new key says which servers accept it, beside those of %o',
    async (env) => {
      expect((await cli.run(['keys', 'new'], env)).err).toContain('Servers that ask for keys accept it immediately.')
    },
  )

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
    const result = await cli.run(['serve', '--port', '0', '--model', await make(cli.home), '--log-level', 'error'])
    expect(result.code).toBe(1)
    expect(noticesOf(result.err)).toMatch(reason)
    expect(noticesOf(result.err)).toMatch(/^model '[^']+' could not be loaded: [^\n]+$/)
  })

  test('a port that is taken is one clear line', async () => {
    const server = await cli.serve()
    const second = await cli.run(['serve', '--config', cli.config, '--port', new URL(server.url).port])
    expect(second).toMatchObject({ code: 1, out: '' })
    expect(noticesOf(second.err)).toMatch(/^port \d+ .* is in use[^\n]*$/)
    server.child.kill('SIGTERM')
    await server.ended
  })

  test('an address that is not of this machine is one clear line', async () => {
    // Reserved for documentation, so no machine has it.
    const result = await cli.run(['serve', '--config', cli.config, '--host', '192.0.2.1', '--port', '0'], {
      DRAGOMAN_API_KEY: 'a-key-that-is-long-enough',
    })
    expect(result).toMatchObject({ code: 1, out: '' })
    expect(noticesOf(result.err)).toMatch(/^192\.0\.2\.1 is not an address [^\n]*$/)
  })

  test('the request to try names a model that is ready, and there is none without one', async () => {
    const lazy = '{ id: lazy, engine: fake, script: from-request, load: demand }'
    const mixed = join(cli.home, 'mixed.yaml')
    await writeFile(mixed, `models: [${lazy}, { id: eager, engine: fake, script: from-request }]\n`)
    const withReady = await cli.serve(['--config', mixed])
    await until(() => withReady.err().includes('Try it'))
    withReady.child.kill('SIGTERM')
    await withReady.ended
    expect(withReady.err()).toContain('eager is ready. Try it')

    const onDemand = join(cli.home, 'on-demand.yaml')
    await writeFile(onDemand, `models: [${lazy}]\n`)
    const withNone = await cli.serve(['--config', onDemand])
    withNone.child.kill('SIGTERM')
    expect(await withNone.ended).toBe(0)
    expect(withNone.err()).not.toContain('Try it')
  })

  test('a store that cannot be opened ends it with the reason, without a password', async () => {
    const hangsUp = createServer((socket) => void socket.once('data', () => socket.destroy())).listen(0, '127.0.0.1')
    await once(hangsUp, 'listening')
    const { port } = hangsUp.address() as AddressInfo
    const result = await cli.run(['serve', '--config', cli.config], {
      DRAGOMAN_STORAGE: `postgres://ann:secret@127.0.0.1:${port}/kept`,
    })
    hangsUp.close()
    expect(result.code).toBe(1)
    expect(JSON.parse(result.err)).toMatchObject({
      code: 'invalid-request',
      msg: expect.stringMatching(/the store 'postgres:\/\/ann@127\.0\.0\.1:\d+\/kept' cannot be opened: .*terminated.*`off`/),
    })
    expect(result.err).not.toContain('secret')
  })

  test.each([
    ['one process', 1, 143],
    ['two workers', 2, 0],
  ])('SIGTERM ends it at once while it waits for its database: %s', async (_, workers, code) => {
    const config = join(cli.home, `waiting-${workers}.yaml`)
    const storage = 'postgres://ann@127.0.0.1:1/kept'
    await writeFile(
      config,
      JSON.stringify({
        server: { port: 0, workers },
        storage,
        models: [{ id: 'scripted', engine: 'fake', script: 'from-request' }],
      }),
    )
    const server = cli.start(['serve', '--config', config])
    await until(() => server.err().split('waiting up to 60 s for PostgreSQL').length > workers)
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(code)
  })

  test('a mistake in the configuration names the nearest key', async () => {
    const wrong = join(cli.home, 'wrong.yaml')
    await writeFile(wrong, 'sever: { port: 1 }\n')
    const result = await cli.run(['serve', '--config', wrong])
    expect(result.code).toBe(1)
    expect(JSON.parse(result.err)).toMatchObject({
      level: 60,
      code: 'invalid-request',
      msg: expect.stringMatching(/sever.*server/),
    })
  })
})

describe('the other commands', () => {
  test('list shows the models of the server, or says that there is none', async () => {
    const server = await cli.serve()
    const listed = await cli.run(['list', '--server', server.url])
    server.child.kill('SIGTERM')
    await server.ended
    expect(listed.out).toMatch(/MODEL +STATE +CONTEXT +ALIASES\nscripted +ready +- +default/)
    expect(await cli.run(['list', '--server', nowhere])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/cannot be reached: .+; `dragoman serve` starts one/),
    })
  })

  test('doctor looks at everything, and passes on a machine that can serve', async () => {
    const hub = await listenOnLoopback((_, response) => response.end())
    const result = await cli.run(['doctor', '--config', cli.config], { HF_ENDPOINT: hub.origin })
    await hub.close()
    expect(result.code).toBe(0)
    for (const name of ['Node.js', 'llama.cpp', 'configuration', 'models folder', 'store', 'pip', 'Hugging Face', 'server']) {
      expect(result.out).toMatch(new RegExp(`^[✓!] ${name}`, 'm'))
    }
    expect(result.out).toContain('dragoman-tiny: 4096 tokens, all that the model was trained for')
    expect(result.out).toContain(`none runs at ${nowhere}; \`dragoman serve\` starts one`)
  })

  test('doctor fails on a configuration that is wrong', async () => {
    const wrong = join(cli.home, 'wrong2.yaml')
    await writeFile(wrong, 'models: 5\n')
    const result = await cli.run(['doctor', '--config', wrong], { HF_ENDPOINT: nowhere })
    expect(result).toMatchObject({ code: 1, out: expect.stringMatching(/^✗ configuration/m) })
  })

  test('doctor names settings of models for what is not there', async () => {
    const config = join(cli.home, 'absent.yaml')
    const source = 'source: builtin:dragoman-tiny.gguf'
    const settings = {
      layers: 'speculation: { type: mtp }',
      device: 'devices: [CUDA7]',
      split: 'tensorSplit: [1, 1, 1, 1, 1, 1, 1, 1, 1]',
      main: 'mainGpu: 9',
    }
    const models = Object.entries(settings).map(([id, setting]) => `  - { id: ${id}, ${source}, ${setting} }\n`)
    await writeFile(config, `models:\n${models.join('')}`)
    const { code, out } = await cli.run(['doctor', '--config', config], { HF_ENDPOINT: nowhere })
    expect(code).toBe(1)
    expect(out).toMatch(/^✗ drafts +layers: its file has no layers that predict further tokens$/m)
    expect(out).toMatch(/^✗ placement +device: there is no device CUDA7$/m)
    expect(out).toMatch(/^✗ placement +split: `tensorSplit` has 9 shares$/m)
    expect(out).toMatch(/^✗ placement +main: `mainGpu` is 9, counted from 0$/m)
  })

  test('a file that is written at the end is refused at once where it has no folder', async () => {
    const html = join(cli.home, 'none', 'report.html')
    const checked = await cli.run(['check', nowhere, '--html', html])
    expect(checked).toMatchObject({ code: 1, err: expect.stringContaining(`there is no folder ${join(cli.home, 'none')}`) })
  })

  test('config --schema prints a JSON Schema', async () => {
    const { out } = await cli.run(['config', '--schema'])
    expect(JSON.parse(out)).toMatchObject({ type: 'object', properties: { server: {}, models: {} } })
  })

  test('pull prints where a local model is', async () => {
    const file = join(cli.home, 'tiny.gguf')
    await writeFile(file, encodeGguf(new Map(), []))
    expect(await cli.run(['pull', file])).toMatchObject({ code: 0, out: `${file}\n` })
  })
})
