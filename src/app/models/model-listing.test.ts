import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { listing } from '../../config/sections/listing-schema.ts'
import { AppError } from '../../contract/errors.ts'
import type { ListedModel } from '../../engine/remote/list-models.ts'
import { chooseModels, ModelListing } from './model-listing.ts'

const configOf = (settings: object = {}) => listing.parse({ from: { url: 'http://up/v1' }, ...settings })

/** A listing of a server whose replies are set, with a clock. */
function open(settings: object = {}) {
  const lines: { msg: string }[] = []
  const state = { nowMs: 0, asked: 0, reply: async (): Promise<readonly ListedModel[]> => [{ id: 'a' }] }
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const lister = {
    list: () => {
      state.asked += 1
      return state.reply()
    },
    close: async () => undefined,
  }
  const models = new ModelListing({ config: configOf(settings), lister, log, now: () => state.nowMs })
  return { state, models, ids: () => models.models.map(({ id }) => id), lines }
}

const away = async () => {
  throw new AppError('model-unavailable', 'nothing listens at up')
}

describe('a server is asked for its list', () => {
  test('at most once a minute', async () => {
    const { state, models, ids } = open()
    await models.refresh()
    state.reply = async () => [{ id: 'a' }, { id: 'b' }]
    state.nowMs = 59_999
    expect(models.refresh()).toBeUndefined()
    expect([state.asked, ids()]).toEqual([1, ['a']])
    state.nowMs = 60_000
    await models.refresh()
    expect([state.asked, ids()]).toEqual([2, ['a', 'b']])
  })

  test('for a name that nobody has, at most once in five seconds', async () => {
    const { state, models } = open()
    await models.refresh()
    state.nowMs = 4999
    expect(models.lookFor('b')).toBeUndefined()
    state.nowMs = 5000
    await models.lookFor('b')
    expect(models.lookFor('c')).toBeUndefined()
    expect(state.asked).toBe(2)
  })

  test('once for all who ask at the same time', async () => {
    const { state, models } = open()
    await Promise.all([models.refresh(), models.refresh(), models.lookFor('b')])
    expect(state.asked).toBe(1)
  })

  test('not for a name that it could not have', () => {
    const { models } = open({ prefix: 'up/', include: ['q*'], exclude: ['*-embed'] })
    expect(['qwen', 'up/gemma', 'up/q-embed'].map((name) => models.lookFor(name))).toEqual([undefined, undefined, undefined])
    expect(models.lookFor('up/qwen')).toBeInstanceOf(Promise)
  })
})

describe('a server that is away', () => {
  test('keeps its models, is asked again soon, and is in the log once', async () => {
    const { state, models, ids, lines } = open()
    await models.refresh()
    state.reply = away
    for (state.nowMs = 60_000; state.nowMs <= 70_000; state.nowMs += 5000) await models.refresh()
    expect([state.asked, ids()]).toEqual([4, ['a']])
    state.reply = async () => [{ id: 'b' }]
    state.nowMs = 75_000
    await models.refresh()
    expect(ids()).toEqual(['b'])
    expect(lines.map(({ msg }) => msg)).toEqual([
      'models of the server',
      'the models of the server could not be listed',
      'models of the server',
    ])
  })

  test('from the start is not known', async () => {
    const { state, models } = open()
    state.reply = away
    await models.refresh()
    expect(models.isKnown).toBe(false)
  })
})

test('the log names a server without what its query may hold', async () => {
  const { state, models, lines } = open({ from: { url: 'http://up/v1?key=secret' } })
  await models.refresh()
  state.reply = away
  state.nowMs = 60_000
  await models.refresh()
  expect(lines).toMatchObject([{ server: 'http://up/v1' }, { server: 'http://up/v1' }])
})

test('a list without models empties it, and the same list changes nothing', async () => {
  const { state, models } = open()
  await models.refresh()
  const before = models.models
  state.nowMs = 60_000
  await models.refresh()
  expect(models.models).toBe(before)
  state.reply = async () => []
  state.nowMs = 120_000
  await models.refresh()
  expect(models.models).toEqual([])
})

describe('of the models that a server lists', () => {
  const choose = (settings: object, ...ids: string[]) => {
    const { models, unusable } = chooseModels(
      configOf(settings),
      ids.map((id) => ({ id })),
    )
    return { ids: models.map(({ id }) => id), unusable }
  }

  test.each([
    [{}, ['gpt-4o', 'o3', 'tts-1']],
    [{ include: ['gpt-*', 'o3'] }, ['gpt-4o', 'o3']],
    [{ exclude: ['tts-*', 'o*'] }, ['gpt-4o']],
    [{ prefix: 'openai/' }, ['openai/gpt-4o', 'openai/o3', 'openai/tts-1']],
    [{ prefix: 'openai/', include: ['openai/*'] }, []],
  ])('%j serves %j', (settings, ids) => {
    expect(choose(settings, 'gpt-4o', 'o3', 'tts-1').ids).toEqual(ids)
  })

  test('names that no client could send are left out, and each is there once', () => {
    expect(choose({}, 'a', 'two words', 'a*', '', 'a', 'new\nline')).toEqual({
      ids: ['a'],
      unusable: ['two words', 'a*', '', 'new\nline'],
    })
  })
})
