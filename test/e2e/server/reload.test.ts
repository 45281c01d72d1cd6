import { rename, writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { dataOf, openChat } from '../../support/http/raw-client.ts'
import { useCommandLine } from '../../support/process/command-line.ts'

const cli = useCommandLine()
type Server = Awaited<ReturnType<typeof cli.serve>>

const fake = (id: string, more: object = {}) => ({ engine: 'fake', id, script: 'from-request', ...more })
const base = { server: { shutdownGraceMs: 0 }, storage: 'off', builtinModel: false }

/** As careful editors and configuration managers do. */
async function replaceFile(config: object): Promise<void> {
  await writeFile(`${cli.config}.new`, JSON.stringify({ ...base, ...config }))
  await rename(`${cli.config}.new`, cli.config)
}

async function call(
  { url }: Server,
  path: string,
  { key = '', body, origin }: { key?: string; body?: object; origin?: string } = {},
) {
  return fetch(`${url}${path}`, {
    headers: {
      'content-type': 'application/json',
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...(origin !== undefined && { origin }),
    },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
}

const ask = (server: Server, model: string, key = '') =>
  call(server, '/v1/chat/completions', { key, body: { model, messages: [{ role: 'user', content: 'hello' }] } })
const ids = async (server: Server) => {
  const { data } = (await (await call(server, '/v1/models')).json()) as { data: { id: string }[] }
  return data.map(({ id }) => id)
}
const slow = (model: string, words = 40) => ({
  model,
  stream: true,
  messages: [
    { role: 'user', content: JSON.stringify({ chunks: Array.from({ length: words }, (_, at) => `w${at} `), delayMs: 50 }) },
  ],
})
const textOf = (events: string) =>
  dataOf(events)
    .flatMap(({ choices }) => choices?.[0]?.delta.content ?? [])
    .join('')
const lastOf = (words: number) => `w${words - 1} `

describe('a configuration that changes while the server runs', () => {
  beforeEach(() => replaceFile({ models: [fake('one', { aliases: ['default'] }), fake('two')] }))

  test('adds, removes and renames models, and no stream of any of them breaks', async () => {
    const server = await cli.serve()
    const streams = ['one', 'two'].map((model) => openChat(server.url, slow(model)))
    for (const stream of streams) await stream.untilContent()
    await replaceFile({ models: [fake('three'), fake('one', { aliases: ['other'], slots: 2 })] })
    await until(async () => (await ids(server)).join() === 'three,one')
    expect((await ask(server, 'other')).status).toBe(200)
    expect((await ask(server, 'three')).status).toBe(200)
    for (const gone of ['two', 'default']) expect((await ask(server, gone)).status).toBe(404)
    for (const stream of streams) {
      await stream.ended
      expect(textOf(stream.text())).toContain(lastOf(40))
      expect(stream.text()).toContain('"finish_reason":"stop"')
    }
  })

  test('takes other keys, scopes and limits; a stream of a key that is gone goes on to its end', async () => {
    const server = await cli.serve()
    const anyone = openChat(server.url, slow('one'))
    await anyone.untilContent()
    const models = [fake('one', { aliases: ['default'] })]
    await replaceFile({
      models,
      server: {
        apiKeys: [
          { key: 'old', name: 'old' },
          { key: 'ops', scopes: ['admin'] },
        ],
        keyLimits: { requestsPerMinute: 50 },
      },
    })
    await until(async () => (await ask(server, 'one')).status === 401)
    const stream = openChat(server.url, slow('one'), { authorization: 'Bearer old' })
    await stream.untilContent()
    expect((await call(server, '/metrics', { key: 'old' })).status).toBe(403)
    expect((await call(server, '/metrics', { key: 'ops' })).status).toBe(200)
    expect((await ask(server, 'one', 'old')).headers.get('x-ratelimit-limit-requests')).toBe('50')
    await replaceFile({ models, server: { apiKeys: [{ key: 'new', requestsPerMinute: 1, models: ['one'] }] } })
    await until(async () => (await call(server, '/v1/models', { key: 'old' })).status === 401)
    const answered = await ask(server, 'one', 'new')
    expect([answered.status, answered.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '0'])
    expect((await ask(server, 'one', 'new')).status).toBe(429)
    for (const running of [anyone, stream]) {
      await running.ended
      expect(textOf(running.text())).toContain(lastOf(40))
    }
  })

  test('stays closed when its file is emptied, and says so; a server does not start with such a file', async () => {
    await replaceFile({ models: [fake('one')], server: { adminKey: 'root' } })
    const server = await cli.serve()
    await writeFile(cli.config, '')
    await until(() => server.err().includes('it has no settings'))
    await replaceFile({ models: [fake('one')] })
    await until(() => server.err().includes('a reload cannot take the last one away'))
    expect([(await ask(server, 'one')).status, (await ask(server, 'one', 'root')).status]).toEqual([401, 200])
    await writeFile(cli.config, '# nothing\n')
    const { code, err } = await cli.run(['serve', '--config', cli.config, '--port', '0'])
    expect([code, err]).toEqual([1, expect.stringContaining('serve the defaults without a configuration file')])
  })

  test('takes other presets, origins and templates', async () => {
    const server = await cli.serve()
    const origin = 'https://chat.example.com'
    expect((await call(server, '/v1/models', { origin })).headers.get('access-control-allow-origin')).toBeNull()
    const presets = { calm: { temperature: { override: 0, force: true } } }
    await writeFile(`${cli.home}/own.jinja`, '{{ messages }}')
    await replaceFile({
      models: [fake('one', { aliases: ['default'] })],
      server: { allowedOrigins: [origin] },
      sampling: { presets, preset: 'calm' },
      templates: cli.home,
    })
    await until(async () => (await call(server, '/v1/models', { origin })).headers.get('access-control-allow-origin') === origin)
    expect((await ask(server, 'one')).headers.get('x-dragoman-preset')).toBe('calm')
    expect(JSON.stringify(await (await call(server, '/v1/templates')).json())).toContain('"own"')
    await replaceFile({ models: [fake('one', { aliases: ['default'] })] })
    await until(async () => (await ask(server, 'one')).headers.get('x-dragoman-preset') === null)
    expect((await call(server, '/v1/models', { origin })).headers.get('access-control-allow-origin')).toBeNull()
  })

  test('that is invalid changes nothing, and is reported with its problems', async () => {
    const server = await cli.serve()
    await writeFile(
      cli.config,
      'models:\n  - { engine: fake, id: new, script: from-request }\n  - { engine: fake, id: new }\nservr: {}\n',
    )
    await until(() => server.err().includes('was not reloaded'))
    expect(server.err()).toMatch(/dragoman\.yaml:3: models\[1\]\.script.*dragoman\.yaml:4: .*servr/)
    expect(await ids(server)).toEqual(['one', 'two'])
    await replaceFile({ models: [fake('one')], sampling: { presets: { bad: { temperature: { override: 'hot' } } } } })
    await until(() => server.err().split('was not reloaded').length === 3)
    expect(server.err()).toContain('sampling.presets.bad')
    expect(await ids(server)).toEqual(['one', 'two'])
    await replaceFile({ models: [fake('two')] })
    await until(async () => (await ids(server)).join() === 'two')
  })

  test('changes the silence before a heartbeat, and the memory, of what begins afterwards', async () => {
    const server = await cli.serve()
    await replaceFile({ models: [fake('one')], server: { heartbeatMs: 5 }, memory: { budget: '7MB' } })
    await until(async () => (await ids(server)).join() === 'one')
    const stream = openChat(server.url, slow('one', 10))
    await stream.ended
    expect(stream.text()).toMatch(/^:/m)
    expect(textOf(stream.text())).toContain(lastOf(10))
    expect(server.err()).not.toContain('need a restart')
  })

  test('names the settings that need a restart, and takes the others', async () => {
    const server = await cli.serve()
    await replaceFile({ models: [fake('new')], server: { streaming: false }, storage: { ttlDays: 5 } })
    await until(async () => (await ids(server)).join() === 'new')
    // The line is on its way through the pipe.
    await until(async () => server.err().includes('need a restart'))
    const line = server
      .err()
      .split('\n')
      .find((text) => text.includes('need a restart'))
    expect(JSON.parse(line ?? '').settings).toEqual(['server.streaming', 'storage.database', 'storage.ttlDays'])
  })

  test('is read again at SIGHUP, which ends nothing; SIGTERM then ends the server', async () => {
    const server = await cli.serve(['--log-level', 'info'])
    const stream = openChat(server.url, slow('one', 10))
    await stream.untilContent()
    for (const turn of [1, 2]) {
      server.child.kill('SIGHUP')
      await until(() => server.err().split('was reloaded').length === turn + 1)
    }
    await stream.ended
    expect(textOf(stream.text())).toContain(lastOf(10))
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  })

  test('loses no request, however often it changes while hundreds are answered', async () => {
    const server = await cli.serve(['--log-level', 'info'])
    const statuses: number[] = []
    let isOver = false
    const client = async (index: number) => {
      while (!isOver) {
        const reply = await ask(server, index % 2 === 0 ? 'default' : 'two')
        const text = await reply.text()
        statuses.push(text.includes('"finish_reason":"stop"') ? reply.status : 0)
      }
    }
    const clients = Array.from({ length: 8 }, (_, index) => client(index))
    for (let turn = 0; turn < 12; turn += 1) {
      const models = [fake('one', { aliases: ['default'], slots: 8 + (turn % 3) }), fake('two', { contextLength: 4096 + turn })]
      await replaceFile({ models: turn % 2 === 0 ? models.toReversed() : models })
      const answered = statuses.length
      await until(() => server.err().split('was reloaded').length === turn + 2 && statuses.length >= answered + 20)
    }
    isOver = true
    await Promise.all(clients)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
  })
})

test('all processes of a server follow its file, and those that start later', async () => {
  await replaceFile({ models: [fake('one', { aliases: ['default'] })], server: { workers: 2 } })
  const server = await cli.serve(['--log-level', 'info'])
  const stream = openChat(server.url, slow('one'))
  await stream.untilContent()
  await replaceFile({ models: [fake('two', { aliases: ['default'] })], server: { workers: 2, apiKeys: ['k'] } })
  const answers = async (model: string, key: string) =>
    Promise.all(Array.from({ length: 6 }, () => ask(server, model, key).then(({ status }) => status)))
  await until(async () => (await answers('two', 'k')).every((status) => status === 200))
  expect(await answers('one', 'k')).toEqual(Array(6).fill(404))
  expect(await answers('two', 'other')).toEqual(Array(6).fill(401))
  const llama = { engine: 'llama', id: 'local', source: './m.gguf' }
  await replaceFile({ models: [llama], server: { workers: 1, apiKeys: ['k'] } })
  await until(() => server.err().includes("'local' runs on llama"))
  expect(await answers('two', 'k')).toEqual(Array(6).fill(200))
  await stream.ended
  expect(textOf(stream.text())).toContain(lastOf(40))
})

test('a key that is made, revoked or expires takes effect at once, and a stream that it began goes on', async () => {
  await replaceFile({ models: [fake('one', { aliases: ['default'] })] })
  const server = await cli.serve(['--host', '0.0.0.0'])
  const key = (await cli.run(['keys', 'create', '--name', 'guest'])).out.trim()
  const stream = openChat(server.url, slow('one', 150), { authorization: `Bearer ${key}` })
  await stream.untilContent()
  await cli.run(['keys', 'revoke', 'guest'])
  expect((await ask(server, 'one', key)).status).toBe(401)
  const brief = (
    await cli.run(['keys', 'create', '--expires', `${new Date(Date.now() + 10_000).toISOString().slice(0, 19)}Z`])
  ).out.trim()
  expect((await ask(server, 'one', brief)).status).toBe(200)
  await until(async () => (await ask(server, 'one', brief)).status === 401)
  expect(await (await ask(server, 'one', brief)).text()).toContain('has expired')
  await stream.ended
  expect(textOf(stream.text())).toContain(lastOf(150))
})
