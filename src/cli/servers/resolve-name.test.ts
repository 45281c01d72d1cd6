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

test('an unknown name in the form of a repository is told with the source that fetches it', () => {
  expect(() => resolveName(models, 'you/toy')).toThrow("model 'you/toy' not found")
  expect(() => resolveName(models, 'you/toy')).toThrow('hf:you/toy')
})

test('another unknown name is told alone', () => {
  expect(() => resolveName(models, 'nonesuch')).not.toThrow('hf:')
  expect(() => resolveName(models, 'nonesuch')).toThrow("model 'nonesuch' not found")
})
