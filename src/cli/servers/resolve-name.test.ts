import { expect, test } from 'vitest'
import { separateEntries } from '../../config/entries.ts'
import { configSchema } from '../../config/schema.ts'
import { resolveName } from './resolve-name.ts'

const { models } = separateEntries(
  configSchema.parse({ models: [{ id: 'me/scripted', engine: 'fake', script: 'from-request' }] }),
)

test('a name of the configuration is that model, also with a slash', () => {
  expect(resolveName(models, 'me/scripted').id).toBe('me/scripted')
})

test('the error for an unknown name in the form of a repository has the source that fetches it', () => {
  expect(() => resolveName(models, 'you/toy')).toThrow("model 'you/toy' not found")
  expect(() => resolveName(models, 'you/toy')).toThrow('hf:you/toy')
})

test.each([
  ['qwen33:8b', 'models like that can be fetched as qwen3:0.6b, '],
  ['smolm2', 'models like that can be fetched as smollm2:1.7b'],
  ['nonesuch', '`dragoman search` lists models that can be fetched'],
])('the error for another unknown name, %s, has short names like it, or says where they are', (name, what) => {
  expect(() => resolveName(models, name)).toThrow(`model '${name}' not found; available: me/scripted; ${what}`)
})

test('the error for a name that is near one of the configuration has that one only', () => {
  expect(() => resolveName(models, 'me/scriptde')).toThrow(/did you mean 'me\/scripted'\?$/)
})
