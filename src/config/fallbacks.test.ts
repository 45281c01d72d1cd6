import { describe, expect, test } from 'vitest'
import { configFromObject } from './load.ts'

const fake = (id: string, more: object = {}) => ({ engine: 'fake', id, script: 'from-request', ...more })
const inputs = { env: {}, cwd: '/base', userHome: '/home/me', needsModel: true }
const load = (...models: object[]) => configFromObject({ builtinModel: false, models: models as never }, inputs)

describe('the fallback of a model', () => {
  test('the fallback of a model names others, by id or alias, which may name it in turn', () => {
    const { models } = load(
      fake('a', { fallback: ['b', 'third'] }),
      fake('b', { fallback: ['a'] }),
      fake('c', { aliases: ['third'] }),
    )
    expect(models[0]?.fallback).toEqual(['b', 'third'])
  })

  test.each([
    [[fake('a', { fallback: ['a'] })], "models[0].fallback[0]: 'a' is this model: name another one"],
    [[fake('a', { aliases: ['x-*'], fallback: ['x-1'] })], "models[0].fallback[0]: 'x-1' is this model"],
    [[fake('b'), fake('a', { fallback: ['b', 'b'] })], "models[1].fallback[1]: 'b' is named twice"],
    [[fake('a', { fallback: ['c'] }), fake('b')], "the fallback 'c' of model 'a' is not a model: there are a, b"],
    [[fake('a', { fallback: [] })], 'models[0].fallback'],
  ])('%j is refused: %s', (models, message) => {
    expect(() => load(...models)).toThrow(message)
  })

  test('the fallback of a model may be a model that a server lists, which is known later', () => {
    expect(() => load(fake('a', { fallback: ['up/b'] }), { from: { url: 'http://up/v1' } })).not.toThrow()
  })
})
