import { describe, expect, test } from 'vitest'
import { configFromObject } from './load.ts'

const inputs = { env: {}, cwd: '/base', userHome: '/home/me', needsModel: true }
const url = (at: number) => ({ url: `http://10.0.0.${at}/v1` })
const remote = (more: object) => ({ engine: 'remote', id: 'qwen', endpoints: [url(1)], ...more })
const load = (...models: object[]) => configFromObject({ builtinModel: false, models: models as never }, inputs)

describe('the versions of a model', () => {
  test('the versions of a model are models of their own, with its other settings', () => {
    const { models } = load(
      remote({
        aliases: ['default'],
        upstreamModel: 'Qwen/Qwen3-32B',
        slots: 8,
        required: true,
        fallback: ['small'],
        mirror: { to: 'next', percent: 1 },
        versions: [
          { name: 'new', percent: 5, endpoints: [url(2)], upstreamModel: 'Qwen/Qwen3.5-32B' },
          { name: 'next', percent: 0, endpoints: [url(3)] },
        ],
      }),
      { engine: 'fake', id: 'small', script: 'from-request' },
    )
    expect(models.map(({ id }) => id)).toEqual(['qwen', 'qwen@new', 'qwen@next', 'small'])
    const shared = { engine: 'remote', aliases: [], slots: 8, versionOf: 'qwen' }
    expect(models[1]).toMatchObject({ ...shared, upstreamModel: 'Qwen/Qwen3.5-32B', endpoints: [url(2)] })
    expect(models[2]).toMatchObject({ ...shared, upstreamModel: 'Qwen/Qwen3-32B', endpoints: [url(3)] })
    for (const name of ['fallback', 'mirror', 'required', 'versions']) expect(models[1]).not.toHaveProperty(name)
  })

  test.each([
    [{ versions: [{ name: 'main', percent: 1, endpoints: [url(2)] }] }, 'models[0].versions[0].name: must be a name of letters'],
    [
      { versions: ['a', 'a'].map((name) => ({ name, percent: 1, endpoints: [url(2)] })) },
      'models[0].versions[1].name: names two versions',
    ],
    [
      { versions: ['a', 'b'].map((name) => ({ name, percent: 60, endpoints: [url(2)] })) },
      'models[0].versions: add up to 120 percent: at most 100',
    ],
    [{ versions: [] }, 'models[0].versions'],
    [{ mirror: { to: 'gone', percent: 1 } }, "mirror.to 'gone' of model 'qwen' is neither a version nor a model: there are qwen"],
    [{ mirror: { to: 'qwen', percent: 101 } }, 'models[0].mirror.percent: must be at most 100, got 101'],
    [{ mirror: { to: 'qwen', percent: 1 } }, "models[0].mirror.to: 'qwen' is this model: name another one"],
  ])('%j is refused: %s', (more, message) => {
    expect(() => load(remote(more))).toThrow(message)
  })

  test('the versions of a model have names that no other model has', () => {
    const versions = [{ name: 'new', percent: 5, endpoints: [url(2)] }]
    expect(() => load(remote({ versions }), { engine: 'fake', id: 'qwen@new', script: 'from-request' })).toThrow(
      "two models have the id 'qwen@new'",
    )
  })
})
