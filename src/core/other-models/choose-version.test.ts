import { describe, expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { RequestContext } from '../../contract/context.ts'
import { type GenerationRequest, type Message, plainChat, plainRequest } from '../../contract/request.ts'
import type { ModelVersion, ServedModel } from '../../contract/served-model.ts'
import { FairScheduler } from '../schedule/fair-scheduler.ts'
import { chooseVersion, versionAt } from './choose-version.ts'

const engine = stubEngine()
const model = (id: string, more: Partial<ServedModel> = {}): ServedModel => ({
  id,
  engine,
  scheduler: new FairScheduler({ slots: 1, maxQueued: 1, engine }),
  ...more,
})
const version = (name: string, percent: number): ModelVersion => ({ name, percent, id: `m@${name}` })
const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const chat = (...messages: Message[]): GenerationRequest => ({
  ...plainRequest,
  id: 'r',
  model: 'm',
  prompt: { type: 'chat', ...plainChat, messages },
})

const models = [model('m@new', {}), model('m@old', {})]
const others = {
  find: (name: string, { models: allowed }: { readonly models?: readonly string[] }) =>
    models.find(({ id }) => id === name && (allowed === undefined || allowed.includes(id))),
}
const choose = (request: GenerationRequest, options: Partial<RequestContext> = {}, percent = 5) => {
  const served = model('m', { versions: [version('new', percent)] })
  return chooseVersion(contextOf(engine, { ...options, model: served }), request, others)
}

describe('without a choice of the caller', () => {
  test('versions get their parts of the conversations, and the model the rest', () => {
    const ids = Array.from({ length: 2000 }, (_, at) => choose(chat(user(`question ${at}`))).model.id)
    const share = ids.filter((id) => id === 'm@new').length / ids.length
    expect(share).toBeGreaterThan(0.03)
    expect(share).toBeLessThan(0.07)
    expect(new Set(ids)).toEqual(new Set(['m', 'm@new']))
  })

  test.each([
    [
      'its turns',
      (at: number) => chat(user(`q${at}`)),
      (at: number) => chat(user(`q${at}`), { role: 'assistant', parts: [] }, user('and?')),
    ],
    ['its texts', (at: number) => textOf(`${at} ${'x'.repeat(300)}`), (at: number) => textOf(`${at} ${'x'.repeat(300)} more`)],
  ])('a conversation keeps its version, by %s', (_, first, later) => {
    for (let at = 0; at < 200; at++) expect(choose(later(at), {}, 50).model.id).toBe(choose(first(at), {}, 50).model.id)
  })

  test('a session keeps its version, with different words in each request', () => {
    for (let at = 0; at < 50; at++) {
      const session = `session ${at}`
      const ids = ['a', 'b', 'c', 'd'].map((text) => choose(chat(user(text)), { session }, 50).model.id)
      expect(new Set(ids).size).toBe(1)
    }
  })

  test('the same words of two callers are two conversations', () => {
    const idFor = (id: string, at: number) => choose(chat(user(`q${at}`)), { principal: { id, scopes: new Set() } }, 50).model.id
    expect(Array.from({ length: 100 }, (_, at) => idFor('a', at) === idFor('b', at))).toContain(false)
  })

  test('a version that is not there is the model itself', () => {
    const gone = model('m', { versions: [{ name: 'gone', percent: 100, id: 'm@gone' }] })
    expect(chooseVersion(contextOf(engine, { model: gone }), chat(user('x')), others).model).toBe(gone)
  })
})

describe('a version that the caller names', () => {
  test('the version serves, and nothing else does', () => {
    expect(choose(chat(user('x')), { version: 'new' })).toMatchObject({ model: { id: 'm@new' }, isPinned: true })
    expect(choose(chat(user('x')), { version: 'main' }, 100)).toMatchObject({ model: { id: 'm' }, isPinned: true })
  })

  test('the version needs a key that may use it', () => {
    const principal = (...allowed: string[]) => ({ id: 'k', scopes: new Set<never>(), models: allowed })
    expect(choose(chat(user('x')), { version: 'new', principal: principal('m', 'm@new') }).model.id).toBe('m@new')
    expect(() => choose(chat(user('x')), { version: 'new', principal: principal('m') })).toThrow(
      "may not choose the version 'new'",
    )
    expect(choose(chat(user('x')), { principal: principal('m') }, 100).model.id).toBe('m@new')
  })

  test('the version must be one of the model', () => {
    expect(() => choose(chat(user('x')), { version: 'newer' })).toThrow(
      "has no version 'newer' (x-dragoman-version); it has: main, new",
    )
  })
})

test.each([
  [0, 'a'],
  [0.0999, 'a'],
  [0.1, 'b'],
  [0.2999, 'b'],
  [0.3, undefined],
])('%d of all conversations is in the part of %s', (share, name) => {
  expect(versionAt([version('a', 10), version('b', 20)], share)?.name).toBe(name)
})

function textOf(text: string): GenerationRequest {
  return { ...plainRequest, id: 'r', model: 'm', prompt: { type: 'text', text } }
}
