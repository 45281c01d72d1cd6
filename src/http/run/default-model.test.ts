import { expect, test } from 'vitest'
import type { Catalogue, ModelSummary } from '../../contract/server/catalogue.ts'
import type { Lifecycle } from '../../contract/server/lifecycle.ts'
import { defaultModelName, withModel } from './default-model.ts'

const model = (id: string, aliases: readonly string[] = []) => ({ id, aliases }) as unknown as ModelSummary
const catalogue = (...all: ModelSummary[]): Pick<Catalogue, 'list'> => ({
  list: ({ models }) => all.filter(({ id }) => models === undefined || models.includes(id)),
})
const chose = (id: string) => ({ chosen: () => id }) as unknown as Lifecycle

test('without a model, a request is for the one loaded last, else `default`, else the first', () => {
  const models = catalogue(model('a'), model('b', ['default']), model('c'))
  expect(defaultModelName({ models, lifecycle: chose('c') }, {})).toBe('c')
  expect(defaultModelName({ models }, {})).toBe('default')
  expect(defaultModelName({ models: catalogue(model('a'), model('b')) }, {})).toBe('a')
})

test('a ranking is for a model that is known to rank, if there is one', () => {
  const ranker = (id: string) => ({ ...model(id), kind: 'rerank' as const })
  const models = catalogue(model('a', ['default']), ranker('r'), ranker('s'))
  expect(defaultModelName({ models, ranks: true, lifecycle: chose('a') }, {})).toBe('r')
  expect(defaultModelName({ models, ranks: true, lifecycle: chose('s') }, {})).toBe('s')
  expect(defaultModelName({ models: catalogue(model('a')), ranks: true }, {})).toBe('a')
})

test('it is one that the caller may use', () => {
  const models = catalogue(model('a'), model('b'))
  expect(defaultModelName({ models, lifecycle: chose('a') }, { models: ['b'] })).toBe('b')
})

test('a body keeps the model that it names, and one that is no object stays as it is', () => {
  const deps = { models: catalogue(model('a')) }
  expect(withModel({ model: 'b', x: 1 }, deps, {})).toEqual({ model: 'b', x: 1 })
  for (const model of [null, '']) expect(withModel({ model, x: 1 }, deps, {})).toEqual({ model: 'a', x: 1 })
  expect([[], 'text', null].map((body) => withModel(body, deps, {}))).toEqual([[], 'text', null])
})
