import { describe, expect, test } from 'vitest'
import type { ConfiguredModel } from '../config/models.ts'
import { modelSchema } from '../config/schema.ts'
import type { LoadSettings } from '../contract/server/lifecycle.ts'
import { applySettings, settingsOf } from './apply-settings.ts'

const small = { type: 'path', path: '/small.gguf' } as const
const other = { type: 'path', path: '/other.gguf' } as const
const llama = { engine: 'llama', id: 'large', source: '/large.gguf' }
const server = { ...llama, engine: 'llama-server' }
const ngram = { type: 'ngram', maxTokens: 5 }
const draft = { source: '/small.gguf', maxTokens: 4 }

type Case = { readonly name: string; readonly config: object; readonly settings: LoadSettings; readonly expected: object }

describe('how tokens are drafted', () => {
  test.each<Case>([
    {
      name: 'stays as it is',
      config: { ...llama, draft },
      settings: { slots: 2 },
      expected: { draft: { maxTokens: 4 }, slots: 2 },
    },
    {
      name: 'a draft model on the embedded engine',
      config: llama,
      settings: { draftModel: 'o' },
      expected: { draft: { source: [other] } },
    },
    {
      name: 'another draft model, with the limits of the configured one',
      config: { ...llama, draft },
      settings: { draftModel: 'o' },
      expected: { draft: { source: [other], maxTokens: 4 } },
    },
    {
      name: 'a draft model instead of prompt lookup',
      config: { ...llama, speculation: ngram },
      settings: { draftModel: 'o' },
      expected: { draft: { source: [other] }, speculation: undefined },
    },
    {
      name: 'prompt lookup instead of a draft model',
      config: { ...llama, draft },
      settings: { speculation: 'ngram-simple' },
      expected: { draft: undefined, speculation: { type: 'ngram', maxTokens: 8 } },
    },
    {
      name: 'prompt lookup as it is configured',
      config: { ...llama, speculation: ngram },
      settings: { speculation: 'ngram-mod' },
      expected: { speculation: ngram },
    },
    {
      name: 'not at all',
      config: { ...llama, draft },
      settings: { speculation: 'off' },
      expected: { draft: undefined, speculation: undefined },
    },
    {
      name: 'layers of the model instead of prompt lookup',
      config: { ...llama, speculation: ngram },
      settings: { speculation: 'draft-mtp' },
      expected: { speculation: { type: 'mtp', maxTokens: 3, minProbability: 0 } },
    },
    {
      name: 'layers of the model on a llama-server',
      config: { ...server, args: ['--spec-type', 'ngram-mod'] },
      settings: { speculation: 'draft-mtp' },
      expected: { speculation: { type: 'mtp', maxTokens: 3, minProbability: 0 }, args: [] },
    },
    {
      name: 'a draft model beside the arguments of a llama-server',
      config: { ...server, args: ['--spec-type', 'draft-mtp'] },
      settings: { draftModel: 'o' },
      expected: { draft: { source: [other] }, args: ['--spec-type', 'draft-mtp'] },
    },
    {
      name: 'by a llama-server from the text',
      config: { ...server, draft, args: ['--mlock', '--spec-type', 'draft-mtp'] },
      settings: { speculation: 'ngram-mod' },
      expected: { draft: undefined, args: ['--mlock', '--spec-type', 'ngram-mod'] },
    },
    {
      name: 'not at all by a llama-server',
      config: { ...server, draft, args: ['--spec-type', 'draft-mtp', '--mlock'] },
      settings: { speculation: 'off' },
      expected: { draft: undefined, args: ['--mlock'] },
    },
  ])('the draft $name', ({ config, settings, expected }) => {
    const base = modelSchema.parse(config) as ConfiguredModel
    const files = settings.draftModel === undefined ? {} : { draft: [other] }
    const {
      draft: drafted,
      speculation,
      ...changed
    } = { draft: undefined, speculation: undefined, ...applySettings(base, settings, files) }
    expect({ ...changed, draft: drafted, speculation }).toMatchObject(expected)
  })

  test('drafting cannot be set on other engines', () => {
    const fake = modelSchema.parse({ engine: 'fake', id: 'f', script: 'from-request' }) as ConfiguredModel
    const set = () => applySettings(fake, { draftModel: 'o' }, { draft: [small] })
    expect(set).toThrow(/draftModel.* cannot be set for model 'f' .* serve the model with llama or llama-server/)
  })
})

test('the settings of a model name the file that drafts, and not where it is', () => {
  const named = (source: string) => settingsOf(modelSchema.parse({ ...llama, draft: { source } }) as ConfiguredModel).draftModel
  expect(named('/folder/small.gguf')).toBe('small.gguf')
  expect(named('hf:owner/small')).toBe('owner/small')
  expect(settingsOf(modelSchema.parse(llama) as ConfiguredModel)).not.toHaveProperty('draftModel')
})
