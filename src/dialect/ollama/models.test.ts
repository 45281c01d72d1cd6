import { expect, test } from 'vitest'
import { encodeTags, type OllamaModel } from './models.ts'

const model: OllamaModel = {
  id: 'm',
  aliases: [],
  createdAtMs: 0,
  facts: {},
  usesTools: true,
  thinks: true,
  isLoaded: false,
}

test.each([
  [undefined, ['completion', 'tools', 'thinking']],
  ['chat', ['completion', 'tools', 'thinking']],
  ['embeddings', ['embedding']],
  ['rerank', []],
  ['other', []],
] as const)('a model of the kind %s has the capabilities %j', (kind, capabilities) => {
  expect(encodeTags([{ ...model, ...(kind !== undefined && { kind }) }])).toMatchObject({ models: [{ capabilities }] })
})

test('the list has the newest model first, by its file where it has one', () => {
  const models = [
    { ...model, id: 'old', createdAtMs: 1000 },
    { ...model, id: 'new', createdAtMs: 3000 },
    { ...model, id: 'middle', createdAtMs: 2000 },
  ]
  expect(encodeTags(models)).toMatchObject({
    models: [{ name: 'new:latest' }, { name: 'middle:latest' }, { name: 'old:latest' }],
  })
})

test.each([
  [{ parameterCount: 8_030_000_000 }, '8.0B'],
  [{ parameterCount: 134_520_000 }, '134.52M'],
  [{ parameterCount: 260_032 }, '260K'],
  [{ parameterCount: 260_032, sizeLabel: 'tiny' }, 'tiny'],
  [{}, ''],
])('a file with %j has the size %j', (facts, size) => {
  const file = { sizeBytes: 1, ...facts } as OllamaModel['file'] & object
  expect(encodeTags([{ ...model, file }])).toMatchObject({ models: [{ details: { parameter_size: size } }] })
})
