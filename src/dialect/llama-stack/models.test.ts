import { describe, expect, test } from 'vitest'
import type { EngineState, ServerReport } from '../../contract/engine.ts'
import { encodeProvider, encodeRoutes, encodeStackModel, encodeStackModels, type StackModelEntry } from './models.ts'

const entry: StackModelEntry = { id: 'org/m', createdAtMs: 1_700_000_000_999, contextLength: 100, state: { type: 'ready' } }
const server: ServerReport = { host: 'x', state: 'healthy', activeRequests: 0, outstandingTokens: 0 }

test('a model has its context in its metadata, where that is known', () => {
  const { contextLength: _, ...unknown } = entry
  expect([encodeStackModel(entry).metadata, encodeStackModel(unknown).metadata]).toEqual([{ context_length: 100 }, {}])
})

test.each([
  ['chat', 'llm'],
  ['embeddings', 'embedding'],
  ['rerank', 'rerank'],
  ['other', 'llm'],
] as const)('a model of the kind %s has the type %s', (kind, type) => {
  expect(encodeStackModel({ ...entry, kind }).model_type).toBe(type)
})

test('an entry of the list has the fields of old clients and of new ones', () => {
  expect(encodeStackModels([entry]).data).toEqual([
    {
      identifier: 'org/m',
      provider_id: 'org/m',
      provider_resource_id: 'org/m',
      type: 'model',
      model_type: 'llm',
      metadata: { context_length: 100 },
      id: 'org/m',
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'dragoman',
      custom_metadata: { model_type: 'llm', provider_id: 'org/m', provider_resource_id: 'org/m', context_length: 100 },
    },
  ])
})

describe('a provider', () => {
  test.each<[string, Partial<StackModelEntry>]>([
    ['inline::dragoman', {}],
    ['remote::unknown', { servers: [server] }],
    ['remote::vllm', { servers: [{ ...server, found: { kind: 'vllm', model: 'up', abilities: {} } }] }],
  ])('has the type %s', (type, fields) => {
    expect(encodeProvider({ ...entry, ...fields })).toMatchObject({ provider_type: type, config: {} })
  })

  test.each<[EngineState, object]>([
    [{ type: 'ready' }, { status: 'OK', message: 'ready' }],
    [{ type: 'stopped' }, { status: 'OK', message: 'stopped' }],
    [
      { type: 'failed', reason: 'It broke.' },
      { status: 'Error', message: 'It broke.' },
    ],
  ])('in the state %j has the health %j', (state, health) => {
    expect(encodeProvider({ ...entry, state }).health).toEqual(health)
  })
})

test('a route with a wildcard takes an id', () => {
  expect(encodeRoutes([{ path: '/v1/models/*', methods: ['GET', 'HEAD'] }]).data).toEqual([
    { route: '/v1/models/{id}', method: 'GET', provider_types: ['inline::dragoman'] },
    { route: '/v1/models/{id}', method: 'HEAD', provider_types: ['inline::dragoman'] },
  ])
})
