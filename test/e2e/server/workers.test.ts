import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFlags } from '../../../src/cli/v8-flags.ts'
import { until } from '../../support/http/app.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { type Seat, seatsOf, startWorkers, type WorkersServer } from '../../support/process/serve-workers.ts'

const models = [{ id: 'm', engine: 'fake' as const, script: 'from-request', aliases: ['default'], slots: 64 }]
const chat = (content: string, more: object = {}) => ({ model: 'm', messages: [{ role: 'user', content }], ...more })
const slow = (more: object = {}) => chat(JSON.stringify({ raw: 'a b c d', delayMs: 3_600_000 }), more)
const path = '/v1/chat/completions'

/** The value of a metric, as this process reports it. */
async function metric(seat: Seat, line: string): Promise<number> {
  const found = (await seat.get('/metrics')).text.split('\n').find((candidate) => candidate.startsWith(`${line} `))
  return Number(found?.slice(line.length + 1) ?? 0)
}
const busyLine = 'dragoman_slots_busy{model="m"}'
const busy = (seat: Seat) => metric(seat, busyLine)
/** While both connections are in use. */
async function busyBoth({ url }: WorkersServer): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${busyLine} `))
      ?.slice(busyLine.length + 1),
  )
}

beforeAll(buildProgram)

describe('two processes on one port', () => {
  let server: WorkersServer
  let here: Seat
  let there: Seat
  let templates: string
  beforeAll(async () => {
    templates = await mkdtemp(join(tmpdir(), 'dragoman-templates-'))
    await writeFile(join(templates, 'shout.jinja'), '{% for message in messages %}{{ message.content | upper }}{% endfor %}')
    const sampling = { presets: { short: { max_tokens: { override: 1, force: true } } } }
    server = await startWorkers({ models, templates, sampling })
    ;[here, there] = await seatsOf(server)
  })
  afterAll(async () => {
    await server.stop()
    await rm(templates, { recursive: true })
  })

  test('answer real clients, and write one log', async () => {
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
    const replies = Array.from({ length: 8 }, (_, index) =>
      client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: `words ${index}` }] }),
    )
    expect((await Promise.all(replies)).map(({ choices }) => choices[0]?.message.content)).toEqual(
      replies.map((_, index) => `words ${index}`),
    )
    const pids = server.log.filter(({ generationId }) => generationId !== undefined).map(({ pid }) => pid)
    await until(() => new Set(pids).size === 2 || pids.length >= 8)
    expect(here.pid).not.toBe(there.pid)
  })

  test.skipIf(process.platform === 'win32')(
    "open no debugger at a log rotation's SIGUSR1, and neither does the primary process",
    async () => {
      for (const pid of [server.pid, here.pid, there.pid]) process.kill(pid, 'SIGUSR1')
      for (const seat of [here, there]) expect((await seat.get('/health')).status).toBe(200)
      expect(server.log.filter(({ msg }) => /debugger/i.test(msg))).toEqual([])
    },
  )

  test.runIf(process.platform === 'linux')('are started with our flags of Node, the primary process without', async () => {
    const flagsOf = async (pid: number) => (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
    for (const { pid } of [here, there]) expect(await flagsOf(pid)).toEqual(expect.arrayContaining(startFlags))
    expect(await flagsOf(server.pid)).not.toEqual(expect.arrayContaining(startFlags))
  })

  test.each<Record<string, string>>([{ cancel_id: 'c' }, { session_id: 's' }])(
    'a cancel by %j reaches the process that runs the request, and its reply counts it',
    async (keys) => {
      const reply = here.post(path, slow(keys))
      await until(async () => (await busy(there)) === 1)
      expect(JSON.parse((await there.post('/api/inference/cancel', keys)).text)).toEqual({ cancelled: 1 })
      expect(JSON.parse((await reply).text)).toMatchObject({ choices: [{ finish_reason: 'length' }] })
    },
  )

  test('a cancel that comes to one before its request comes to the other is kept there', async () => {
    expect(JSON.parse((await there.post('/api/inference/cancel', { cancel_id: 'early' })).text)).toEqual({ cancelled: 0 })
    const { text } = await here.post(path, slow({ cancel_id: 'early' }))
    expect(JSON.parse(text)).toMatchObject({ choices: [{ message: { content: '' }, finish_reason: 'length' }] })
  })

  test('each shows the metrics of both', async () => {
    const line = 'dragoman_http_requests_total{route="/v1/chat/completions",status="200"}'
    const before = await metric(here, line)
    await here.post(path, chat('one'))
    await there.post(path, chat('two'))
    await until(async () => (await metric(here, line)) === before + 2)
    expect(await metric(there, line)).toBe(before + 2)
  })

  test('each shows the requests of both, by their ids, too', async () => {
    const ids = [here, there].map(async (seat) => JSON.parse((await seat.post(path, chat('seen'))).text).id as string)
    const [ofHere, ofThere] = await Promise.all(ids)
    for (const seat of [here, there]) {
      const { requests } = JSON.parse((await seat.get('/api/requests')).text) as { requests: { id: string; state: string }[] }
      const seen = requests.filter(({ id, state }) => state === 'done' && [ofHere, ofThere].includes(id))
      expect(seen).toHaveLength(2)
      for (const id of [ofHere, ofThere]) {
        expect(JSON.parse((await seat.get(`/api/requests/${id}`)).text)).toMatchObject({ id, state: 'done' })
      }
    }
    const leaving = new AbortController()
    const stream = await fetch(`${server.url}/api/events?topics=requests&recent=100`, { signal: leaving.signal })
    let text = ''
    const decoder = new TextDecoder()
    for await (const bytes of stream.body ?? []) {
      text += decoder.decode(bytes, { stream: true })
      if (text.includes(String(ofHere)) && text.includes(String(ofThere))) break
    }
    leaving.abort()
  })

  test('a preset that one is switched to is used by both, and by one that starts later', async () => {
    expect((await here.post('/v1/sampling/override/switch', { preset: 'short' })).status).toBe(200)
    const first = async (seat: Seat) => JSON.parse((await seat.post(path, chat('two words'))).text)
    expect(await first(there)).toMatchObject({ usage: { completion_tokens: 1 } })
    await kill(server, there)
    const [, again] = await replaced(server, [here.pid, there.pid])
    expect(await first(again)).toMatchObject({ usage: { completion_tokens: 1 } })
    ;[here, there] = await seatsOf(server)
    await here.post('/v1/sampling/override/unload', {})
    expect(await first(there)).toMatchObject({ usage: { completion_tokens: 2 } })
  })

  test('a template that one is switched to is used by both, and by one that starts later', async () => {
    const selected = async (seat: Seat) => JSON.parse((await seat.get('/v1/templates')).text).selected
    expect((await here.post('/v1/template/switch', { prompt_template_name: 'shout' })).status).toBe(200)
    await expect.poll(() => selected(there)).toBe('shout')
    await kill(server, there)
    const [, again] = await replaced(server, [here.pid, there.pid])
    expect(await selected(again)).toBe('shout')
    ;[here, there] = await seatsOf(server)
    await here.post('/v1/template/switch', { prompt_template_name: 'model' })
    await expect.poll(() => selected(there)).not.toBe('shout')
  })

  test('when one is killed, its requests fail and nothing else does; it is started again, and what it counted stays', async () => {
    const line = 'dragoman_http_requests_total{route="/v1/chat/completions",status="200"}'
    const counted = await metric(here, line)
    const stays = here.post(path, slow({ cancel_id: 'stays' }))
    const dies = there.post(path, slow()).catch((error: unknown) => error)
    await until(async () => (await busyBoth(server)) === 2)
    await kill(server, there)
    expect(await dies).toBeInstanceOf(Error)
    const [, again] = await replaced(server, [here.pid, there.pid])
    expect((await again.post(path, chat('words'))).status).toBe(200)
    expect((await again.get('/ready')).status).toBe(200)
    expect(await metric(again, line)).toBeGreaterThan(counted)
    expect(JSON.parse((await again.post('/api/inference/cancel', { cancel_id: 'stays' })).text)).toEqual({ cancelled: 1 })
    expect((await stays).status).toBe(200)
  })

  test('at a signal to stop, they finish what runs, and the server ends', async () => {
    const seats = await seatsOf(server)
    const running = seats.map((seat) => seat.post(path, chat(JSON.stringify({ raw: 'a b c', delayMs: 300 }))))
    await until(async () => (await busyBoth(server)) === 2)
    server.signal('SIGTERM')
    for (const reply of running) {
      expect(JSON.parse((await reply).text)).toMatchObject({ choices: [{ message: { content: 'a b c' } }] })
    }
    expect(await server.ended).toBe(0)
  })
})

describe.runIf(process.platform === 'linux')('a connection that comes while its process ends', () => {
  const descriptors = async (pid: number) => (await readdir(`/proc/${pid}/fd`)).length
  /** A request on a connection of its own: its status, or the code of the error that ends it. */
  const ask = ({ url }: WorkersServer) =>
    new Promise<number | string>((resolve) => {
      const sent = get(`${url}/health`, { agent: false }, (reply) =>
        reply.resume().once('end', () => resolve(reply.statusCode ?? 0)),
      )
      sent.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    })

  test('is closed when it was given to a process that never took it', async () => {
    const server = await startWorkers({ models })
    try {
      const [stopped] = await seatsOf(server)
      const before = await descriptors(server.pid)
      process.kill(stopped.pid, 'SIGSTOP')
      // In turn: the first or the second of them comes to the process that does nothing.
      const replies = [ask(server), ask(server), ask(server)]
      await until(async () => (await descriptors(server.pid)) === before + 1)
      process.kill(stopped.pid, 'SIGKILL')
      expect((await Promise.all(replies)).toSorted()).toEqual([200, 200, 'ECONNRESET'])
      await until(async () => (await descriptors(server.pid)) <= before)
    } finally {
      await server.stop()
    }
  })

  test('is answered or closed, in a hundred requests around each of three kills', async () => {
    const server = await startWorkers({ models })
    try {
      const before = await descriptors(server.pid)
      for (let round = 0; round < 3; round++) {
        const seats = await seatsOf(server)
        const replies = Array.from({ length: 100 }, (_, index) => {
          if (index === 50) process.kill(seats[round % 2]?.pid ?? 0, 'SIGKILL')
          return ask(server)
        })
        expect(await Promise.all(replies)).toContain(200)
      }
      await seatsOf(server)
      await until(async () => (await descriptors(server.pid)) <= before)
    } finally {
      await server.stop()
    }
  })
})

/** Resolves when the primary process has noticed it, too: a connection that it gave away just before is closed. */
async function kill(server: WorkersServer, { pid }: Seat): Promise<void> {
  const ends = () => server.log.filter(({ msg }) => msg.startsWith('a worker ended (SIGKILL)')).length
  const before = ends()
  process.kill(pid, 'SIGKILL')
  await until(() => ends() > before)
}

/** Connections to the process that is left and to the one that took the place of the other. */
async function replaced(server: WorkersServer, [left, gone]: readonly [number, number]): Promise<readonly [Seat, Seat]> {
  const seats = await seatsOf(server)
  expect(seats.map(({ pid }) => pid)).toContain(left)
  expect(seats.map(({ pid }) => pid)).not.toContain(gone)
  return (seats[0].pid === left ? seats : seats.toReversed()) as unknown as readonly [Seat, Seat]
}

describe('what two processes share', () => {
  test('limits of keys: no request more than allowed is let through, and a use counts in both from the next on', async () => {
    const server = await startWorkers({
      models,
      server: { apiKeys: [{ key: 'k', requestsPerMinute: 30, scopes: ['inference', 'metrics'] }] },
    })
    try {
      const [here, there] = await seatsOf(server, 'k')
      const left: unknown[] = []
      for (const seat of [here, there, here, there]) {
        left.push((await seat.post(path, chat('x'))).headers['x-ratelimit-remaining-requests'])
      }
      expect(left).toEqual(['29', '28', '27', '26'])
      const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'k', maxRetries: 0 })
      const replies = await Promise.allSettled(
        Array.from({ length: 80 }, () =>
          client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] }),
        ),
      )
      expect(replies.filter(({ status }) => status === 'fulfilled')).toHaveLength(26)
      for (const seat of [here, there]) {
        const { status, headers } = await seat.post(path, chat('x'))
        expect([status, headers['x-ratelimit-remaining-requests']]).toEqual([429, '0'])
        expect(Number(headers['retry-after'])).toBeGreaterThan(0)
      }
    } finally {
      await server.stop()
    }
  })

  test('limits of tokens: what a request did not use is there again for both; what a killed process reserved is not', async () => {
    const server = await startWorkers({
      models,
      server: { apiKeys: [{ key: 'k', tokensPerMinute: 100, scopes: ['inference', 'metrics'] }] },
    })
    try {
      const [here, there] = await seatsOf(server, 'k')
      const reply = here.post(path, slow({ max_tokens: 80, cancel_id: 'c' }))
      await until(async () => (await busy(there)) === 1)
      expect((await there.post(path, chat('x', { max_tokens: 80 }))).status).toBe(200)
      await there.post('/api/inference/cancel', { cancel_id: 'c' })
      await reply
      const small = () => there.post(path, chat('x', { max_tokens: 1 }))
      expect(Number((await small()).headers['x-ratelimit-remaining-tokens'])).toBeGreaterThan(80)
      const dies = here.post(path, slow({ max_tokens: 60 })).catch((error: unknown) => error)
      await until(async () => (await busy(there)) === 1)
      await kill(server, here)
      await dies
      expect((await there.post(path, chat('x', { max_tokens: 60 }))).headers['x-ratelimit-remaining-tokens']).toMatch(
        /^[1-3]?\d$/,
      )
    } finally {
      await server.stop()
    }
  })

  test('responses and conversations: one continues what the other stored, and only one at a time writes to a conversation', async () => {
    const server = await startWorkers({ models, storage: {} })
    try {
      const [here, there] = await seatsOf(server)
      const { id } = JSON.parse((await here.post('/v1/responses', { model: 'm', input: 'first' })).text)
      const next = await there.post('/v1/responses', { model: 'm', input: 'second', previous_response_id: id })
      expect(JSON.parse(next.text)).toMatchObject({ status: 'completed', previous_response_id: id })
      const conversation = JSON.parse((await there.post('/v1/conversations', {})).text).id
      const input = JSON.stringify({ raw: 'a b', delayMs: 3_600_000 })
      const writing = here.post('/v1/responses', { model: 'm', input, conversation }, { 'x-session-id': 'w' })
      await until(async () => (await busy(there)) === 1)
      const refused = await there.post('/v1/responses', { model: 'm', input: 'me too', conversation })
      expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'conversation_locked' } })
      const failed = writing.catch((error: unknown) => error)
      await kill(server, here)
      expect(await failed).toBeInstanceOf(Error)
      expect((await there.post('/v1/responses', { model: 'm', input: 'now', conversation })).status).toBe(200)
    } finally {
      await server.stop()
    }
  })
})

describe('a server of several processes needs a key', () => {
  const statusWithout = async ({ url }: WorkersServer) =>
    (await fetch(`${url}/v1/models`, { headers: { connection: 'close' } })).status
  /** Kills a process, and waits for the one that takes its place. */
  const replaceOne = async (server: WorkersServer, apiKey: string) => {
    const [seat] = await seatsOf(server, apiKey)
    process.kill(seat.pid, 'SIGKILL')
    await until(() => server.log.some(({ msg }) => msg.includes('is started again')))
    const pids = (await seatsOf(server, apiKey)).map(({ pid }) => pid)
    expect(pids).not.toContain(seat.pid)
  }

  test('also when its file was emptied, and a process was started again since', async () => {
    const server = await startWorkers({ models, server: { adminKey: 'root' } })
    try {
      await writeFile(server.file, '{}')
      server.signal('SIGHUP')
      await until(() => server.log.some(({ msg }) => msg.includes('was not reloaded')))
      await writeFile(server.file, JSON.stringify({ models, storage: 'off' }))
      server.signal('SIGHUP')
      await until(() => server.log.filter(({ msg }) => msg.includes('was not reloaded')).length >= 2)
      await replaceOne(server, 'root')
      for (let at = 0; at < 4; at += 1) expect(await statusWithout(server)).toBe(401)
    } finally {
      await server.stop()
    }
  })

  test('also when its file no longer says that others can reach it', async () => {
    const server = await startWorkers({ models, server: { host: '0.0.0.0' } })
    try {
      const keyOf = () => server.log.map(({ msg }) => /sk-dragoman-\w+/.exec(msg)?.[0]).find((found) => found !== undefined)
      await until(() => keyOf() !== undefined)
      const key = keyOf() ?? ''
      await writeFile(server.file, JSON.stringify({ models, storage: 'off', server: { workers: 2 } }))
      server.signal('SIGHUP')
      await until(() => server.log.some(({ msg }) => msg.includes('server.host')))
      await replaceOne(server, key)
      for (let at = 0; at < 4; at += 1) expect(await statusWithout(server)).toBe(401)
    } finally {
      await server.stop()
    }
  })
})

describe('a server of several processes does not start', () => {
  test('on a port that is taken', async () => {
    const server = await startWorkers({ models })
    try {
      const port = Number(new URL(server.url).port)
      await expect(startWorkers({ models, server: { port } })).rejects.toThrow(`port ${port}`)
    } finally {
      await server.stop()
    }
  })

  test('with a model that runs in one process, or with fewer slots than processes', async () => {
    const local = { id: 'own', engine: 'llama' as const, source: 'x.gguf' }
    await expect(startWorkers({ models: [local] })).rejects.toThrow("'own' runs on llama, in one process")
    const narrow = { id: 'narrow', engine: 'fake' as const, script: 'from-request', slots: 1 }
    await expect(startWorkers({ models: [narrow] })).rejects.toThrow("'narrow' has 1: raise its slots")
  })
})
