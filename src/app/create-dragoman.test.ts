import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { stubEngine } from '../../test/support/upstream/stub-engine.ts'
import { textOf } from '../canonical/parts.ts'
import type { Dialect } from '../contract/dialect.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import { plainRequest } from '../contract/request.ts'
import { createDragoman, type Dragoman, type DragomanOptions } from './create-dragoman.ts'

const echo = { id: 'echo', engine: 'fake', script: 'from-request' } as const
const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }

/** Nothing is stored, unless the configuration says where. */
async function open({ config = { builtinModel: false, models: [echo] }, ...options }: DragomanOptions = {}) {
  const dragoman = await createDragoman({ config: { storage: 'off', ...config }, ...options })
  onTestFinished(() => dragoman.close())
  return dragoman
}

/** Says `word` until it is aborted, and remembers that it was. */
function endless(word: string) {
  const seen = { aborted: false }
  const engine: Engine = stubEngine({
    prepare: async () => ({
      run: async (signal, emit) => {
        for (;;) {
          await emit({ type: 'text-delta', choice: 0, delta: word })
          await new Promise((resolve) => setTimeout(resolve, 1))
          if (!signal.aborted) continue
          seen.aborted = true
          throw AppError.from(signal.reason)
        }
      },
    }),
  })
  return { engine, seen }
}

function chat(body: object, init: RequestInit = {}): Request {
  const headers = { 'content-type': 'application/json' }
  const payload = { model: 'echo', messages: [{ role: 'user', content: 'hi' }], ...body }
  return new Request('http://localhost/v1/chat/completions', { method: 'POST', headers, body: JSON.stringify(payload), ...init })
}

describe('in process', () => {
  test('a text is a prompt, and the result has its parts', async () => {
    const dragoman = await open()
    const { choices, start } = await dragoman.generate({ model: 'echo', prompt: 'hello' }).result()
    expect(start.model).toBe('echo')
    expect(textOf(choices[0]?.parts ?? [])).toBe('hello')
  })

  test('what an engine refuses is an AppError, with the place at fault', async () => {
    const dragoman = await open()
    const generation = dragoman.generate({ model: 'echo', prompt: { type: 'infill', prefix: 'a', suffix: 'b' } })
    await expect(generation.result()).rejects.toMatchObject({ code: 'unsupported-field', at: ['prompt', 'suffix'] })
  })

  test('a wrong field is refused before anything runs, with its place', async () => {
    const dragoman = await open()
    expect(() => dragoman.generate({ model: 'echo', prompt: 'a', sampling: { topP: 7 } })).toThrow(
      expect.objectContaining({ code: 'invalid-request', at: ['sampling', 'topP'] }),
    )
  })

  test('an unknown model is refused at once', async () => {
    const dragoman = await open()
    expect(() => dragoman.generate({ model: 'nobody', prompt: 'a' })).toThrow(
      expect.objectContaining({ code: 'model-not-found' }),
    )
  })

  test('leaving the loop ends the generation', async () => {
    const { engine, seen } = endless('a')
    const dragoman = await open({ config: {}, models: [{ id: 'mine', engine }] })
    for await (const event of dragoman.generate({ model: 'mine', prompt: 'a' })) if (event.type === 'text-delta') break
    expect(dragoman.models.map(({ id }) => id)).toContain('mine')
    // The engine learns of it from `emit`, which fails: it never saw the signal.
    expect(seen.aborted).toBe(false)
  })

  test('C37: aborting ends it with the reason', async () => {
    const { engine, seen } = endless('a')
    const dragoman = await open({ config: {}, models: [{ id: 'mine', engine }] })
    const controller = new AbortController()
    const reason = new Error('the user closed the window')
    const read = async () => {
      for await (const event of dragoman.generate({ model: 'mine', prompt: 'a' }, { signal: controller.signal })) {
        if (event.type === 'text-delta') controller.abort(reason)
      }
    }
    await expect(read()).rejects.toMatchObject({
      code: 'cancelled',
      message: 'the caller aborted the generation',
      cause: reason,
    })
    expect(seen.aborted).toBe(true)
    const aborted = dragoman.generate({ model: 'mine', prompt: 'a' }, { signal: AbortSignal.abort(reason) })
    await expect(aborted.result()).rejects.toMatchObject({ code: 'cancelled', cause: reason })
  })

  test('a generation runs once', async () => {
    const dragoman = await open()
    const generation = dragoman.generate({ model: 'echo', prompt: 'a' })
    await generation.result()
    await expect(generation.result()).rejects.toMatchObject({ code: 'invalid-request' })
  })

  test('an engine that joins the signal to a time limit of its own ends when it is cancelled', async () => {
    const controller = new AbortController()
    const engine = stubEngine({
      prepare: async () => ({
        run: async (signal) => {
          setImmediate(() => controller.abort())
          await sleep(60_000, undefined, { signal: AbortSignal.any([signal, AbortSignal.timeout(60_000)]) })
        },
      }),
    })
    const dragoman = await open({ config: {}, models: [{ id: 'mine', engine }] })
    // The engine ends with an `AbortError`; the caller sees why.
    const generation = dragoman.generate({ model: 'mine', prompt: 'a' }, { signal: controller.signal })
    await expect(generation.result()).rejects.toMatchObject({ code: 'cancelled' })
  })
})

describe('the end', () => {
  const closed = { code: 'shutting-down' }

  test('running generations finish before the models are closed', async () => {
    const dragoman = await open()
    const events = dragoman.generate({ model: 'echo', prompt: 'one two three' })[Symbol.asyncIterator]()
    await events.next()
    const closing = dragoman.close()
    const texts: string[] = []
    for (let next = await events.next(); next.done !== true; next = await events.next())
      if (next.value.type === 'text-delta') texts.push(next.value.delta)
    expect(texts.join('')).toBe('one two three')
    await closing
  })

  test('generations that outlast the grace period are cancelled', async () => {
    const { engine } = endless('a')
    const dragoman = await open({ config: { server: { shutdownGraceMs: 20 } }, models: [{ id: 'mine', engine }] })
    const ended = dragoman.generate({ model: 'mine', prompt: 'a' }).result()
    const expected = expect(ended).rejects.toMatchObject(closed)
    await dragoman.close()
    await expected
  })

  test('after it, nothing begins', async () => {
    const models = [{ ...echo, load: 'start' }] as const
    const dragoman = await open({ config: { builtinModel: false, models, server: { port: 0 } } })
    const late = dragoman.generate({ model: 'echo', prompt: 'a' })
    await dragoman.close()
    await dragoman.close()
    expect(() => dragoman.generate({ model: 'echo', prompt: 'a' })).toThrow(expect.objectContaining(closed))
    await expect(late.result()).rejects.toMatchObject(closed)
    await expect(dragoman.listen()).rejects.toMatchObject(closed)
    await expect(dragoman.ready()).rejects.toMatchObject(closed)
    expect((await dragoman.fetch(chat({}))).status).toBe(503)
  })

  test('await using closes it', async () => {
    let dragoman: Dragoman
    {
      await using used = await open()
      dragoman = used
    }
    expect(() => dragoman.generate({ model: 'echo', prompt: 'a' })).toThrow(expect.objectContaining(closed))
  })

  test('it listens once', async () => {
    const dragoman = await open({ config: { builtinModel: false, models: [echo], server: { port: 0 } } })
    await dragoman.listen()
    await expect(dragoman.listen()).rejects.toMatchObject({ code: 'invalid-request', message: expect.stringContaining('once') })
  })
})

describe('as a fetch handler', () => {
  test('a stream arrives piece by piece', async () => {
    const { engine } = endless('a')
    const dragoman = await open({ config: {}, models: [{ id: 'mine', engine }] })
    const controller = new AbortController()
    const reply = await dragoman.fetch(chat({ model: 'mine', stream: true }, { signal: controller.signal }))
    expect(reply.headers.get('content-type')).toContain('text/event-stream')
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toContain('data: {')
    await reader.cancel()
    controller.abort()
  })

  test('aborting the request ends the generation', async () => {
    const { engine, seen } = endless('a')
    const dragoman = await open({ config: {}, models: [{ id: 'mine', engine }] })
    const controller = new AbortController()
    const reply = await dragoman.fetch(chat({ model: 'mine', stream: true }, { signal: controller.signal }))
    await (reply.body as ReadableStream<Uint8Array>).getReader().read()
    controller.abort()
    await expect.poll(() => seen.aborted).toBe(true)
  })

  test('a reader that does not read makes the generation wait', async () => {
    const seen = { events: 0, isWaiting: false }
    const engine = stubEngine({
      prepare: async () => ({
        run: async (signal, emit) => {
          for (; !signal.aborted; seen.events += 1) {
            const caughtUp = emit({ type: 'text-delta', choice: 0, delta: 'a'.repeat(10_000) })
            seen.isWaiting = caughtUp !== undefined
            await caughtUp
            seen.isWaiting = false
            await new Promise(setImmediate)
          }
          throw AppError.from(signal.reason)
        },
      }),
    })
    const dragoman = await open({ config: {}, models: [{ id: 'mine', engine }] })
    const reply = await dragoman.fetch(chat({ model: 'mine', stream: true }))
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    const isStalled = async () => {
      const { events } = seen
      // The generation takes its turns in the same event loop, however busy the machine is.
      for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
      return seen.isWaiting && seen.events === events
    }
    while (!(await isStalled())) expect(seen.events).toBeLessThan(60)
    const before = seen.events
    expect(before).toBeLessThan(60)
    while (seen.events === before) await reader.read()
    await reader.cancel()
  })

  test('failures have their statuses, and routes without a body work', async () => {
    const dragoman = await open()
    expect((await dragoman.fetch(chat({ temperature: -1 }))).status).toBe(400)
    expect((await dragoman.fetch(new Request('http://localhost/nothing'))).status).toBe(404)
    const models = await dragoman.fetch(new Request('http://localhost/v1/models'))
    expect(((await models.json()) as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['echo'])
  })
})

describe('inside another program', () => {
  const models = (url: string, headers = {}) => new Request(url, { headers })

  test('every host is served, with and without keys, and keys are still required', async () => {
    const dragoman = await open()
    for (const host of ['my.app', 'my.app:8443', 'x']) {
      expect((await dragoman.fetch(models(`https://${host}/v1/models`))).status).toBe(200)
    }
    const locked = await open({ config: { builtinModel: false, models: [echo], server: { apiKeys: ['k'] } } })
    expect((await locked.fetch(models('https://my.app/v1/models'))).status).toBe(401)
    expect((await locked.fetch(models('https://my.app/v1/models', { authorization: 'Bearer k' }))).status).toBe(200)
  })

  test.each(['/api', '/api/', '/a/b c'.replace(' ', '%20')])(
    'below %s the routes are found, and nowhere else',
    async (basePath) => {
      const dragoman = await open({ basePath })
      const root = `https://my.app${basePath.replace(/\/$/, '')}`
      expect((await dragoman.fetch(models(`${root}/v1/models?x=1`))).status).toBe(200)
      for (const path of ['', '/']) expect((await dragoman.fetch(models(`${root}${path}`))).status).toBe(200)
      for (const url of ['https://my.app/v1/models', `${root}s/v1/models`, 'https://my.app/']) {
        const refused = await dragoman.fetch(models(url))
        expect(refused.status).toBe(404)
        const { error } = (await refused.json()) as { error: { message: string } }
        expect(error.message).toMatch(/^there is no route GET \/.*: all of them are below \/a/)
      }
      expect((await dragoman.fetch(models(`${root}/nothing`))).status).toBe(404)
    },
  )

  test('a base path that is not a path is refused', async () => {
    for (const basePath of ['api', 'https://my.app/api', '/api?x', ' '])
      await expect(createDragoman({ basePath })).rejects.toMatchObject({ code: 'invalid-request' })
  })
})

describe('parts of the caller', () => {
  test('a dialect of its own answers at its path', async () => {
    const shout: Dialect = {
      createId: () => `shout-${Math.random()}`,
      decode: ({ body }, { id }) => ({
        requests: [
          { ...plainRequest, id, model: 'echo', prompt: { type: 'text', text: String((body as { say: unknown }).say) } },
        ],
        stream: false,
        ignored: [],
        nameOf: () => 'say',
        encodeResult: ({ choices }) => ({ shouted: textOf(choices[0]?.parts ?? []).toUpperCase() }),
        createStreamEncoder: () => ({ encode: () => '' }),
      }),
      encodeError: ({ message }) => ({ status: 418, body: { problem: message } }),
      heartbeat: '',
      prefixes: ['/shout'],
    }
    const dragoman = await open({ dialects: [{ path: '/shout', dialect: shout }] })
    const headers = { 'content-type': 'application/json' }
    const ask = (path: string) =>
      dragoman.fetch(new Request(`http://localhost${path}`, { method: 'POST', headers, body: '{"say":"hi"}' }))
    expect(await (await ask('/shout')).json()).toEqual({ shouted: 'HI' })
    expect((await ask('/shout/nothing')).status).toBe(418)
  })

  test('a source of its own finds the file of a model', async () => {
    const asked: string[] = []
    const sources = {
      mine: async (source: string) => {
        asked.push(source)
        const path = join('/tmp', `dragoman-source-${process.pid}.gguf`)
        await writeFile(path, 'not a model')
        return path
      },
    }
    const models = [{ id: 'm', engine: 'llama', source: 'mine:shelf/one.gguf' }] as const
    const dragoman = await open({ config: { builtinModel: false, models: [...models] }, sources })
    expect(asked).toEqual(['mine:shelf/one.gguf'])
    await expect(dragoman.generate({ model: 'm', prompt: 'a' }).result()).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringContaining('GGUF'),
    })
  })

  test('a model of its own can be loaded at the start', async () => {
    let loads = 0
    const engine = stubEngine({
      ensureReady: async () => {
        loads += 1
      },
      prepare: async () => ({
        run: async (_, emit) => {
          await emit({ type: 'finish', choice: 0, reason: 'stop' })
          await emit({ type: 'usage', usage, timings: {} })
        },
      }),
    })
    const dragoman = await open({ config: { builtinModel: false }, models: [{ id: 'm', engine, load: 'start' }] })
    expect(dragoman.models.map(({ id }) => id)).toEqual(['m'])
    await dragoman.ready()
    expect(loads).toBe(1)
  })

  test('what it stores is there for the next one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-library-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const config = { builtinModel: false, models: [echo], storage: join(folder, 'kept.db') }
    const first = await createDragoman({ config })
    const body = JSON.stringify({ model: 'echo', input: 'one' })
    const headers = { 'content-type': 'application/json' }
    const created = await first.fetch(new Request('http://127.0.0.1/v1/responses', { method: 'POST', headers, body }))
    const response: { readonly id: string } = JSON.parse(await created.text())
    await first.close()
    const second = await open({ config })
    const found = await second.fetch(new Request(`http://127.0.0.1/v1/responses/${response.id}`))
    expect(JSON.parse(await found.text())).toEqual(response)
  })

  test('a model may leave out the engine that its other settings show', async () => {
    const models = [
      { id: 'said', script: 'from-request', aliases: ['default'] },
      { id: 'far', endpoints: [{ url: 'http://127.0.0.1:9/v1' }] },
      { id: 'mine', source: './mine.gguf' },
    ] as const
    const dragoman = await open({ config: { builtinModel: false, models } })
    expect(dragoman.models.map(({ id }) => id)).toEqual(['said', 'far', 'mine'])
    // @ts-expect-error: nothing shows its engine
    const unclear: DragomanOptions = { config: { models: [{ id: 'mine' }] } }
    await expect(createDragoman(unclear)).rejects.toMatchObject({ message: expect.stringContaining('models[0].engine') })
  })

  test('a wrong configuration is refused with its place', async () => {
    const config = { models: [{ ...echo, slots: 0 }] }
    await expect(createDragoman({ config })).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining('slots'),
    })
  })
})
