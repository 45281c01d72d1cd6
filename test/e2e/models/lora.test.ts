import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'
import { writeRandomAdapter } from '../../support/llama/random-adapter.ts'
import { writeRandomModel } from '../../support/llama/random-gguf.ts'

// Loads of real models, on a machine that does other things too.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

let folder: string
let app: RunningApp
const adapter = (name: string, scale = 1) => ({ name, source: join(folder, `${name}.gguf`), scale })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-lora-'))
  await writeRandomModel(join(folder, 'base.gguf'))
  await writeRandomAdapter(join(folder, 'one.gguf'), 1)
  await writeRandomAdapter(join(folder, 'two.gguf'), 2)
  await writeRandomAdapter(join(folder, 'named.gguf'), 1, { base: 'Base-Q4_K_M' })
  await writeRandomAdapter(join(folder, 'foreign.gguf'), 3, { embeddingLength: 96 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

type Reply = {
  readonly choices: readonly [{ readonly message: { readonly content: string } }]
  readonly error: { readonly param: string; readonly message: string }
  readonly data: readonly object[]
  readonly parameters: object
  readonly success: readonly string[]
}

async function call(path: string, body?: object) {
  const response = await fetch(`${app.url}${path}`, {
    headers: { authorization: 'Bearer admin', 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Reply }
}

const question = 'Name the colours of the rainbow, one after the other.'
const chat = (model: string, more: object = {}) =>
  call('/v1/chat/completions', {
    model,
    messages: [{ role: 'user', content: question }],
    temperature: 0,
    max_tokens: 12,
    ignore_eos: true,
    ...more,
  })

/** What a model says to the question. */
async function says(model: string, more: object = {}): Promise<string> {
  const { status, body } = await chat(model, more)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.choices[0].message.content
}

const engines = [
  ['llama', { engine: 'llama' }],
  ...(llamaServerBinary === undefined ? [] : [['llama-server', { engine: 'llama-server', binary: llamaServerBinary }] as const]),
] as const

describe.each(engines)('adapters on %s', (name, engine) => {
  beforeAll(async () => {
    const model = { ...engine, source: join(folder, 'base.gguf'), contextLength: 512, slots: 1, threads: 1, load: 'demand' }
    app = await startApp({
      builtinModel: false,
      models: [
        { ...model, id: 'base' },
        { ...model, id: 'tuned', adapters: [adapter('one')] },
        { ...model, id: 'other', adapters: [adapter('two', 0.5)] },
      ] as never,
      server: { adminKey: 'admin', apiKeys: ['user'] },
    })
  })
  afterAll(() => app.close())

  test('change what the model says, each in its way', async () => {
    const [base, one, two] = [await says('base'), await says('tuned'), await says('other')]
    expect(new Set([base, one, two]).size).toBe(3)
    expect([await says('base'), await says('tuned'), await says('other')]).toEqual([base, one, two])
  })

  test('are those that a request asks for, or it is refused by name', async () => {
    expect(await says('base', { use_adapter: false })).toBe(await says('base'))
    expect(await says('tuned', { use_adapter: true })).toBe(await says('tuned'))
    expect(await says('tuned', { use_adapter: 'one' })).toBe(await says('tuned'))
    for (const [model, use_adapter] of [
      ['base', true],
      ['base', 'one'],
      ['tuned', 'two'],
    ] as const) {
      const { status, body } = await chat(model, { use_adapter })
      expect([status, body.error.param]).toEqual([400, 'use_adapter'])
      // What there is, is named.
      expect(body.error.message).toContain(model === 'base' ? '(it has none)' : '(it has: one)')
    }
  })

  if (name === 'llama') {
    test('that are loaded cannot be left out by one request', async () => {
      const { status, body } = await chat('tuned', { use_adapter: false })
      expect([status, body.error.param]).toEqual([400, 'use_adapter'])
      expect(body.error.message).toContain('one (1)')
    })
  } else {
    test('are left out by one request, whatever the one before it used', async () => {
      const [base, tuned] = [await says('base'), await says('tuned')]
      for (let round = 0; round < 2; round += 1) {
        expect(await says('tuned', { use_adapter: false })).toBe(base)
        expect(await says('tuned')).toBe(tuned)
      }
    })
  }

  test('a load of the path of an adapter loads its model with it', async () => {
    const [base, tuned] = [await says('base'), await says('tuned')]
    const model_path = join(folder, 'named.gguf')
    const ask = async (route: string, path: string) => (await call(`/api/inference/${route}`, { model_path: path })).body
    expect(await ask('validate', model_path)).toMatchObject({ valid: true, identifier: 'base', is_lora: true })
    expect(await ask('load', model_path)).toMatchObject({ status: 'loaded', model: 'base', is_lora: true })
    expect(await says('base')).toBe(tuned)
    expect(await ask('unload', model_path)).toMatchObject({ model: 'base' })
    expect(await says('base')).toBe(base)
    const { error } = await ask('load', join(folder, 'one.gguf'))
    expect(error).toMatchObject({ param: 'model_path', message: expect.stringContaining('does not name its model') })
  })

  test('are loaded, listed and unloaded while the server runs', async () => {
    const base = await says('base')
    const tuned = await says('tuned')
    await call('/api/inference/load', { model_path: 'base', max_seq_length: 256 })
    const load = (loras: object[]) => call('/v1/lora/load', { loras })
    const list = async () => (await call('/v1/loras')).body.data
    expect(await list()).toEqual([])
    expect(await load([{ name: join(folder, 'one.gguf') }])).toEqual({ status: 200, body: { success: ['one'], failure: [] } })
    expect(await list()).toMatchObject([{ id: 'one', object: 'lora', scaling: 1 }])
    expect(await says('base')).toBe(tuned)
    expect((await call('/v1/model?model=base')).body.parameters).toMatchObject({ max_seq_len: 256 })
    expect((await load([{ name: join(folder, 'two.gguf'), scaling: 0.5 }])).body.success).toEqual(['two'])
    expect(await says('base')).toBe(await says('other'))
    expect((await call('/v1/lora/unload', {})).status).toBe(200)
    expect(await says('base')).toBe(base)
    expect(await load([{ name: '../two.gguf' }])).toMatchObject({ status: 400, body: { error: { param: 'loras' } } })
    const refusal = async (lora: object) => {
      const { status, body } = await load([lora])
      return `${status} ${body.error.param ?? ''} ${body.error.message}`
    }
    expect(await refusal({ name: join(folder, 'none.gguf') })).toMatch(
      /^503 .*none\.gguf.*(ENOENT|no such file|does not exist|not there)/i,
    )
    expect(await refusal({ name: join(folder, 'foreign.gguf') })).toMatch(
      name === 'llama' ? /^503 .*for another base model/ : /^503 .*foreign\.gguf/,
    )
    expect(await refusal({ name: join(folder, 'base.gguf') })).toMatch(/^503 .*(base\.gguf|adapter)/)
    expect(await refusal({ name: join(folder, 'one.gguf'), scaling: 'much' })).toContain('400 loras[0].scaling')
    // The model is there as before.
    expect(await says('base')).toBe(base)
  }, 180_000)
})

describe.skipIf(llamaServerBinary === undefined)(`a request names an adapter of a llama-server${llamaServerHint}`, () => {
  test('that is loaded but not applied', async () => {
    const model = { engine: 'llama-server', binary: llamaServerBinary, source: join(folder, 'base.gguf') } as const
    const size = { contextLength: 512, slots: 1, threads: 1 }
    app = await startApp({
      builtinModel: false,
      models: [{ ...model, ...size, id: 'm', adapters: [adapter('one', 0), adapter('two', 0)] }] as never,
      server: { adminKey: 'admin' },
    })
    try {
      const texts = [await says('m'), await says('m', { use_adapter: 'one' }), await says('m', { use_adapter: 'two' })]
      expect(new Set(texts).size).toBe(3)
      expect([
        await says('m', { use_adapter: false }),
        await says('m', { use_adapter: 'one' }),
        await says('m', { use_adapter: 'two' }),
      ]).toEqual(texts)
    } finally {
      await app.close()
    }
  })
})
