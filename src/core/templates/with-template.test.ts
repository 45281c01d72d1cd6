import { expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { EngineFacts } from '../../contract/engine.ts'
import type { Prompt } from '../../contract/request.ts'
import { plainChat } from '../../contract/request.ts'
import type { TemplateStore } from '../../contract/template.ts'
import { withTemplate } from './with-template.ts'

const sources: Readonly<Record<string, string>> = { loud: 'LOUD', model: 'hidden', quiet: 'quiet' }
const templates: TemplateStore = { list: async () => Object.keys(sources), read: async (name) => sources[name] }
const { model } = contextOf(stubEngine({}))
const admin = { model, principal: { id: 'a', scopes: new Set(['admin'] as const) } }
const user = { model, principal: { id: 'u', scopes: new Set(['inference'] as const) } }
const chat = (template?: string) =>
  ({ prompt: { type: 'chat', ...plainChat, messages: [], ...(template !== undefined && { template }) } }) as const

test.each<[string, object]>([
  ['loud', { type: 'named', name: 'loud', source: 'LOUD' }],
  // The own one hides a file of that name, and there need be no folder.
  ['model', { type: 'own' }],
])('the template %j takes the place of its name', async (name, template) => {
  expect(await withTemplate({ templates }, chat(name), admin)).toEqual({ prompt: { ...chat().prompt, template } })
})

test('the own template needs no folder', async () => {
  expect(await withTemplate({}, chat('model'), admin)).toMatchObject({ prompt: { template: { type: 'own' } } })
})

test.each<Prompt>([chat().prompt, { type: 'text', text: 'loud' }])('nothing is looked for in %j', (prompt) => {
  const request = { prompt }
  expect(withTemplate({ templates }, request, user)).toBe(request)
})

test('what is a template already stays, as a program that has this server in it gives one', () => {
  const prompt = { ...chat().prompt, template: { type: 'named', name: 'mine', source: 'm' } } as const
  const request = { prompt }
  expect(withTemplate({ templates }, request, user)).toBe(request)
})

test('an unknown name is refused with those that there are', async () => {
  await expect(withTemplate({ templates }, chat('../loud'), admin)).rejects.toMatchObject({
    code: 'invalid-request',
    at: ['prompt', 'template'],
    message: expect.stringContaining("no template '../loud'; choose one of: model, loud, quiet"),
  })
})

test('a key without the scope may name none, not even one that there is not, unless all may', async () => {
  for (const name of ['loud', 'nothing']) {
    expect(() => withTemplate({ templates }, chat(name), user)).toThrow(
      expect.objectContaining({ code: 'forbidden', at: ['prompt', 'template'] }),
    )
  }
  const open = { templates: { ...templates, areOpen: true } }
  expect(await withTemplate(open, chat('loud'), user)).toMatchObject({ prompt: { template: { name: 'loud' } } })
})

test.each<[string, EngineFacts]>([
  ['model', { chatTemplate: 'OWN' }],
  ['loud', { chatTemplate: 'LOUD', chatTemplateName: 'loud' }],
])('any key may name the template in use: %s', (name, facts) => {
  const context = { ...user, model: contextOf(stubEngine({ facts })).model }
  expect(withTemplate({ templates }, chat(name), context)).toEqual(chat())
  expect(() => withTemplate({ templates }, chat('quiet'), context)).toThrow(expect.objectContaining({ code: 'forbidden' }))
})
