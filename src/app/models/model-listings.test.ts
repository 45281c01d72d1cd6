import { pino } from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { type ScriptedUpstream, startUpstream } from '../../../test/support/upstream/upstream.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { listing } from '../../config/sections/listing-schema.ts'
import { FairScheduler } from '../../core/schedule/fair-scheduler.ts'
import { ModelCatalogue } from './catalogue.ts'
import { type Registered, registerOwnModel } from './create-model.ts'
import { ModelListings } from './model-listings.ts'
import { ModelSet } from './model-set.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const register = (id: string) =>
  registerOwnModel({ id, engine: stubEngine() }, { createScheduler: (settings) => new FairScheduler(settings), limits: {} })

/** A server that lists these models; `lists` counts how often it was asked. */
async function serve(...ids: string[]): Promise<ScriptedUpstream & { ids: string[]; lists: number; isAway: boolean }> {
  const upstream = Object.assign(await startUpstream(() => undefined), { ids, lists: 0, isAway: false })
  upstream.get = (path, response) => {
    if (path !== '/v1/models') return false
    upstream.lists += 1
    response.writeHead(upstream.isAway ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: upstream.ids.map((id) => ({ id, object: 'model', owned_by: 'up' })) }))
    return true
  }
  closing.push(() => upstream.close())
  return upstream
}

function open(configs: readonly object[], own: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const created: string[] = []
  const lines: { msg: string; models?: unknown }[] = []
  const models = new ModelSet({ onDownload: () => undefined, onNote: () => undefined, onFetch: () => undefined })
  void models.change(() => own.map(register))
  const clock = { nowMs: 0 }
  const listings = new ModelListings(
    configs.map((config) => listing.parse(config)),
    {
      models,
      log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
      now: () => clock.nowMs,
      env,
      create: (config: ConfiguredModel): Registered => {
        created.push(config.id)
        return { ...register(config.id), aliases: config.aliases, config }
      },
    },
  )
  closing.push(() => listings.close())
  const ids = () => models.all().map(({ id }) => id)
  const catalogue = new ModelCatalogue({ models, listings, folder: { refresh: () => false } })
  const find = async (name: string) => (await catalogue.find(name, {})).id
  return { listings, models, clock, ids, find, created, lines }
}

describe('models that servers list', () => {
  test('are served beside the others, those of each server under its prefix', async () => {
    const [one, two] = [await serve('a', 'b'), await serve('a')]
    const { listings, ids } = open([{ from: { url: one.url } }, { from: { url: two.url }, prefix: 'two/' }], ['own'])
    expect([ids(), listings.known]).toEqual([['own'], 'none'])
    await listings.refresh()
    expect([ids(), listings.known]).toEqual([['own', 'a', 'b', 'two/a'], 'all'])
  })

  test('have names that no other model has; the log says once which do not', async () => {
    const [one, two] = [await serve('own', 'a'), await serve('a')]
    const { listings, ids, clock, lines } = open([{ from: { url: one.url } }, { from: { url: two.url } }], ['own'])
    await listings.refresh()
    one.ids.push('c')
    clock.nowMs = 60_000
    await listings.refresh()
    expect(ids()).toEqual(['own', 'a', 'c'])
    expect(lines.map(({ models }) => models)).toEqual([['own', 'a']])
  })

  test('are found by a name that was not known, when its server has it by now', async () => {
    const one = await serve('a')
    const { listings, find, clock, created } = open([{ from: { url: one.url } }])
    await listings.refresh()
    one.ids.push('b')
    await expect(find('b')).rejects.toThrow("model 'b' not found; available: a")
    expect(one.lists).toBe(1)
    clock.nowMs = 5000
    expect(await Promise.all([find('b'), find('b'), find('a')])).toEqual(['b', 'b', 'a'])
    expect(one.lists).toBe(2)
    expect(created).toEqual(['a', 'b'])
    await expect(find('c')).rejects.toThrow('available: a, b')
    expect(one.lists).toBe(2)
  })

  test('come and go with their server, and stay while it is away', async () => {
    const one = await serve('a', 'b')
    const { listings, ids, clock } = open([{ from: { url: one.url } }])
    await listings.refresh()
    one.isAway = true
    clock.nowMs = 60_000
    await listings.refresh()
    expect(ids()).toEqual(['a', 'b'])
    one.isAway = false
    one.ids.splice(0, 1)
    clock.nowMs = 65_000
    await listings.refresh()
    expect(ids()).toEqual(['b'])
  })

  test('cost nothing but the list: nothing is asked of them before they are used', async () => {
    const one = await serve(...Array.from({ length: 500 }, (_, at) => `m${at}`))
    const { listings, ids } = open([{ from: { url: one.url } }])
    await listings.refresh()
    expect(ids()).toHaveLength(500)
    expect([one.lists, one.seen.length, one.accepted()]).toEqual([1, 0, 1])
  })
})

describe('a changed configuration', () => {
  test('adds and removes servers, and those that stay keep their models and are not asked again', async () => {
    const [one, two] = [await serve('a'), await serve('b')]
    const first = { from: { url: one.url } }
    const { listings, ids, created } = open([first], ['own'])
    await listings.refresh()
    listings.change([listing.parse(first), listing.parse({ from: { url: two.url } })], (others) => [...others, register('more')])
    expect(ids()).toEqual(['own', 'more', 'a'])
    await listings.refresh()
    expect(ids()).toEqual(['own', 'more', 'a', 'b'])
    listings.change([], (others) => others)
    expect(ids()).toEqual(['own', 'more'])
    expect([one.lists, two.lists, created]).toEqual([1, 1, ['a', 'b']])
  })

  test('gives a name to a single model, and back to the server', async () => {
    const one = await serve('a')
    const config = { from: { url: one.url } }
    const { listings, models } = open([config])
    await listings.refresh()
    const own = register('a')
    listings.change([listing.parse(config)], () => [own])
    expect(models.all()).toEqual([own])
    listings.change([listing.parse(config)], () => [])
    expect(models.all().map((model) => model.config?.listed)).toEqual([{ ownedBy: 'up' }])
  })

  test('that cannot be taken changes nothing', async () => {
    const one = await serve('a')
    const config = { from: { url: one.url } }
    const { listings, ids } = open([config], ['own'])
    await listings.refresh()
    const refuse = () => {
      throw new Error('no')
    }
    expect(() => listings.change([], refuse)).toThrow('no')
    expect(() => listings.change([listing.parse({ from: { url: one.url, apiKeyEnv: 'KEY' } })], (others) => others)).toThrow(
      `the list of models of ${one.url} needs the environment variable KEY, which is not set`,
    )
    expect(ids()).toEqual(['own', 'a'])
  })
})
