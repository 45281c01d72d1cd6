import { describe, expect, test } from 'vitest'
import { configFromObject } from '../load.ts'
import { modelFromListing } from '../models.ts'
import { findUnshared } from '../workers.ts'

const inputs = { env: {}, cwd: '/base', userHome: '/home/me', needsModel: true }
const load = (...models: object[]) => configFromObject({ models: models as never }, inputs)
const problem = (...models: object[]) => {
  try {
    load(...models)
  } catch (error) {
    return String(error)
  }
  return undefined
}

describe('an entry of `models` with `from`', () => {
  test('such an entry is a server whose models are all served, beside single models', () => {
    const { models, listings } = load(
      { from: { url: 'http://127.0.0.1:11434/v1/' } },
      { engine: 'fake', id: 'a', script: 'from-request' },
    )
    expect(models.map(({ id }) => id)).toEqual(['a', 'dragoman-tiny'])
    expect(listings).toEqual([
      {
        from: { url: 'http://127.0.0.1:11434/v1', server: 'auto' },
        include: ['*'],
        exclude: [],
        prefix: '',
        probe: true,
        slots: 256,
        maxQueued: 64,
      },
    ])
  })

  test('alone makes no default model necessary', () => {
    expect(load({ from: { url: 'http://127.0.0.1:1/v1' } }).models.map(({ id }) => id)).toEqual(['dragoman-tiny'])
  })

  test.each([
    [{ from: {} }, 'models[0].from.url: is missing'],
    [{ from: { url: 'ollama' } }, 'models[0].from.url: must be a URL such as http://10.0.0.1:8000/v1, got "ollama"'],
    [
      { from: { url: 'http://a/v1', kind: 'vllm' } },
      "models[0].from.kind: unknown key 'kind'; known keys: url, apiKeyEnv, server",
    ],
    [{ from: { url: 'http://a/v1' }, inclde: ['a'] }, "models[0].inclde: unknown key 'inclde'; did you mean 'include'?"],
    [{ from: { url: 'http://a/v1' }, include: [] }, 'models[0].include: '],
    [{ from: { url: 'http://a/v1' }, prefix: 'a *' }, 'models[0].prefix: must be a text without spaces or *'],
    [{ id: 'm' }, 'models[0].engine: is missing'],
    [{ id: 'm', endpoints: [] }, 'models[0].endpoints: '],
    [{ engine: 'remote', from: { url: 'http://a/v1' } }, "models[0].engine: unknown key 'engine'; known keys: from, include"],
    [{ engine: 'fake', id: 'a', script: 'a', from: {} }, "models[0].from: unknown key 'from'"],
    [{ engine: 'remot', id: 'm' }, "did you mean 'remote'?"],
  ])('%j is refused: %s', (entry, message) => {
    expect(problem(entry)).toContain(message)
  })

  test('such an entry needs a slot for each process', () => {
    const served = { models: [], listings: load({ from: { url: 'http://a/v1' }, slots: 2 }).listings, modelsFolder: undefined }
    expect(findUnshared({ workers: 2, ...served })).toEqual([])
    expect(findUnshared({ workers: 3, ...served })).toEqual([
      "server.workers 3: each process needs a slot of each model, but 'http://a/v1' has 2: raise its slots",
    ])
  })

  test('such an entry names two models alike only where both are single', () => {
    const fake = { engine: 'fake', id: 'a', script: 'from-request' }
    expect(problem({ from: { url: 'http://a/v1' } }, fake, fake)).toContain("models[2].id: two models have the id 'a'")
  })
})

describe('a listed model', () => {
  const [listing] = load({ from: { url: 'http://a/v1', apiKeyEnv: 'KEY', server: 'ollama' }, prefix: 'o/', slots: 3 }).listings

  test('a listed model is a remote model, loaded by the first request for it', () => {
    expect(listing && modelFromListing(listing, { id: 'qwen3:8b', ownedBy: 'library' })).toMatchObject({
      engine: 'remote',
      id: 'o/qwen3:8b',
      aliases: [],
      upstreamModel: 'qwen3:8b',
      endpoints: [{ url: 'http://a/v1', apiKeyEnv: 'KEY', weight: 1 }],
      server: 'ollama',
      load: 'demand',
      slots: 3,
      listed: { ownedBy: 'library' },
    })
  })

  test("a listed model has a second name without Ollama's default tag", () => {
    expect(listing && modelFromListing(listing, { id: 'qwen3:latest' }).aliases).toEqual(['o/qwen3'])
  })
})
