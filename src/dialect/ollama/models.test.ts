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
