import { expect, test, vi } from 'vitest'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { modelSchema } from '../../config/schema.ts'
import { FairScheduler } from '../../core/schedule/fair-scheduler.ts'
import { type Registered, registerOwnModel } from './create-model.ts'
import { replaceModels } from './replace-models.ts'

const config = (id: string, more: object = {}) => modelSchema.parse({ engine: 'fake', id, script: 'from-request', ...more })
const own = (id: string) =>
  registerOwnModel({ id, engine: stubEngine({}) }, { createScheduler: (options) => new FairScheduler(options), limits: {} })

function open(...before: readonly ConfiguredModel[]) {
  const create = vi.fn((made: ConfiguredModel): Registered => ({ ...own(made.id), aliases: made.aliases, config: made }))
  const models = before.map(create)
  create.mockClear()
  const change = (after: readonly ConfiguredModel[], all = models, limits = {}) =>
    replaceModels(all, { before: { models: before, limits: {} }, after: { models: after, limits }, create })
  return { create, models, change }
}

test('models are added, removed and sorted as in the file; those that are the same stay', () => {
  const { create, models, change } = open(config('a'), config('b'), config('c'))
  const after = change([config('d'), config('c'), config('a')])
  expect(after.map(({ id }) => id)).toEqual(['d', 'c', 'a'])
  expect(after[1]).toBe(models[2])
  expect(after[2]).toBe(models[0])
  expect(create).toHaveBeenCalledOnce()
})

test('a model with other names keeps its engine and its queue', () => {
  const { create, models, change } = open(config('a', { aliases: ['x'] }))
  const [after] = change([config('a', { aliases: ['y'], required: true })])
  expect(after).toMatchObject({ aliases: ['y'], required: true })
  expect(after?.engine).toBe(models[0]?.engine)
  expect(after?.scheduler).toBe(models[0]?.scheduler)
  expect(create).not.toHaveBeenCalled()
})

test('other limits of time apply without another load', () => {
  const { models, change } = open(config('a'), config('b', { limits: { stallMs: 5 } }))
  const after = change([config('a'), config('b', { limits: { stallMs: 6 } })], models, { stallMs: 7 })
  expect(after.map(({ limits }) => limits?.stallMs)).toEqual([7, 6])
  expect(after.map(({ engine }) => engine)).toEqual(models.map(({ engine }) => engine))
})

test('another fallback applies without another load', () => {
  const { create, models, change } = open(config('a', { fallback: ['b'] }))
  const [other] = change([config('a', { fallback: ['c'] })])
  expect(other).toMatchObject({ fallback: ['c'], engine: models[0]?.engine })
  const [none] = change([config('a')], other === undefined ? [] : [other])
  expect(none?.fallback).toBeUndefined()
  expect(create).not.toHaveBeenCalled()
})

test('other defaults of conversations apply without another load', () => {
  const { create, models, change } = open(config('a', { chat: { thinking: true } }))
  const [other] = change([config('a', { chat: { thinking: false } })])
  expect(other).toMatchObject({ chat: { reasoning: { enabled: false } }, engine: models[0]?.engine })
  const [none] = change([config('a')], other === undefined ? [] : [other])
  expect(none?.chat).toBeUndefined()
  expect(create).not.toHaveBeenCalled()
})

test('other versions and another mirror apply without another load', () => {
  const endpoints = [{ url: 'http://127.0.0.1:9/v1', weight: 1, kind: 'server' as const }]
  const remote = (more: object) => modelSchema.parse({ engine: 'remote', id: 'a', endpoints, ...more })
  const versions = (percent: number) => [{ name: 'new', percent, endpoints }]
  const { create, models, change } = open(remote({ versions: versions(5) }))
  const [more] = change([remote({ versions: versions(10), mirror: { to: 'b', percent: 1 } })])
  expect(more).toMatchObject({ versions: [{ name: 'new', percent: 10, id: 'a@new' }], mirror: { to: 'b', percent: 1 } })
  expect(more?.engine).toBe(models[0]?.engine)
  const [none] = change([remote({})], more === undefined ? [] : [more])
  expect([none?.versions, none?.mirror]).toEqual([undefined, undefined])
  expect(create).not.toHaveBeenCalled()
})

test('a model with other settings is another one', () => {
  const { models, change } = open(config('a'))
  const [after] = change([config('a', { slots: 3 })])
  expect(after?.engine).not.toBe(models[0]?.engine)
})

test('models from elsewhere stay, and one that was removed meanwhile stays away', () => {
  const { models, change } = open(config('a'), config('b'))
  const elsewhere = own('folder-model')
  const after = change([config('a'), config('b')], [...models.slice(1), elsewhere])
  expect(after).toEqual([models[1], elsewhere])
})

test('a name that a model from elsewhere has is refused, before anything is created', () => {
  const { create, models, change } = open(config('a'))
  const after = [config('b', { aliases: ['folder-model'] })]
  expect(() => change(after, [...models, own('folder-model')])).toThrow(
    "'folder-model' is already a name of the model 'folder-model'",
  )
  expect(create).not.toHaveBeenCalled()
})

test('a remote model follows other endpoints with the same engine, when nothing else has failed', () => {
  const remote = (...urls: readonly string[]) =>
    modelSchema.parse({ engine: 'remote', id: 'r', endpoints: urls.map((url) => ({ url })) })
  const { create, models, change } = open(remote('http://a/v1'), config('b'))
  const followed: unknown[] = []
  const follow = (next: { readonly endpoints: unknown }) => () => void followed.push(next.endpoints)
  const all = models.map((model) => ({ ...model, follow }))
  const next = remote('http://a/v1', 'http://c/v1')
  const [after] = change([next, config('b')], all)
  expect(after?.engine).toBe(models[0]?.engine)
  expect(after?.config).toBe(next)
  expect(followed).toEqual([next.engine === 'remote' && next.endpoints])
  expect(create).not.toHaveBeenCalled()
  // Other endpoints alone move nothing where another model cannot be created.
  create.mockImplementation(() => {
    throw new Error('no such key')
  })
  expect(() => change([remote('http://d/v1'), config('b', { slots: 3 })], all)).toThrow('no such key')
  expect(followed).toHaveLength(1)
})
