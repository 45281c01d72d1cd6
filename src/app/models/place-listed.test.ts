import { expect, test } from 'vitest'
import { type ListedFacts, modelFromListing } from '../../config/models.ts'
import { listing } from '../../config/sections/listing-schema.ts'
import type { Registered } from './create-model.ts'
import { placeListed } from './place-listed.ts'

const config = listing.parse({ from: { url: 'http://up/v1' } })
const listed = (id: string, facts: ListedFacts = {}) => modelFromListing(config, { id, ...facts })
const other = (id: string, ...aliases: string[]) => ({ id, aliases, config: undefined }) as unknown as Registered
const create = (from: ReturnType<typeof listed>) =>
  ({ id: from.id, aliases: from.aliases, config: from, engine: {} }) as unknown as Registered
const ids = (models: readonly Registered[]) => models.map(({ id }) => id)

test('names of other models win, aliases too, and the built-in model stays last', () => {
  const others = [other('a', 'gpt-4o'), other('dragoman-tiny')]
  const { models, hidden } = placeListed(others, { before: [], create, listed: [listed('a'), listed('b'), listed('gpt-4o')] })
  expect(ids(models)).toEqual(['a', 'b', 'dragoman-tiny'])
  expect(hidden).toEqual(['a', 'gpt-4o'])
})

test('of two servers with one name, the first has it', () => {
  const { models, hidden } = placeListed([], { before: [], create, listed: [listed('a', { ownedBy: '1' }), listed('a')] })
  expect(models.map((model) => model.config?.listed)).toEqual([{ ownedBy: '1' }])
  expect(hidden).toEqual(['a'])
})

test('a second name gives way to a model that is called so', () => {
  const { models } = placeListed([other('gemma')], {
    before: [],
    create,
    listed: [listed('qwen:latest'), listed('qwen'), listed('gemma:latest'), listed('llama:latest')],
  })
  expect(models.flatMap(({ id, aliases }) => [id, ...aliases])).toEqual([
    'gemma',
    'qwen:latest',
    'qwen',
    'gemma:latest',
    'llama:latest',
    'llama',
  ])
})

test('a model that is still listed stays what it is; one whose facts have changed keeps its engine', () => {
  const before = placeListed([], { before: [], create, listed: [listed('a'), listed('b'), listed('gone')] }).models
  const { models } = placeListed([], { before, create, listed: [listed('a'), listed('b', { contextLength: 8 }), listed('new')] })
  expect(ids(models)).toEqual(['a', 'b', 'new'])
  expect(models[0]).toBe(before[0])
  expect(models[1]?.engine).toBe(before[1]?.engine)
  expect(models[1]?.config?.listed).toEqual({ contextLength: 8 })
})

test('a model with other settings is a new one', () => {
  const before = placeListed([], { before: [], create, listed: [listed('a')] }).models
  const { models } = placeListed([], { before, create, listed: [{ ...listed('a'), slots: 1 }] })
  expect(models[0]?.engine).not.toBe(before[0]?.engine)
})
