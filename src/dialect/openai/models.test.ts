import { expect, test } from 'vitest'
import { createWireCheck } from '../../../test/support/wire-schema.ts'
import { encodeModel, encodeModelDetail, encodeModelList, type ModelEntry } from './models.ts'

const checkModel = createWireCheck('OpenAIModel')
const entry: ModelEntry = { id: 'org/m', aliases: ['default'], createdAtMs: 1_700_000_000_999, state: { type: 'ready' } }

test('a model is OpenAI’s object, with whole seconds, and what we add', () => {
  const encoded: unknown = JSON.parse(JSON.stringify(encodeModel({ ...entry, contextLength: 8192 })))
  checkModel(encoded)
  expect(encoded).toEqual({
    id: 'org/m',
    object: 'model',
    created: 1_700_000_000,
    owned_by: 'dragoman',
    context_length: 8192,
    state: 'ready',
    loaded: true,
    aliases: ['default'],
    tags: [],
    status: { value: 'loaded', args: [] },
    meta: { n_ctx: 8192 },
  })
})

test.each([
  ['stopped', { value: 'unloaded', args: [] }],
  ['starting', { value: 'loading', args: [] }],
  ['loading', { value: 'loading', args: [] }],
  ['draining', { value: 'unloaded', args: [] }],
  ['failed', { value: 'unloaded', args: [], failed: true, exit_code: 1 }],
] as const)('a model that is %s has llama-server’s status, and no facts', (type, status) => {
  const encoded = encodeModel({ ...entry, state: { type }, contextLength: 8192, isAdded: true })
  checkModel(encoded)
  expect(encoded).toMatchObject({ status, source: 'cache', can_remove: true })
  expect(encoded).not.toHaveProperty('meta')
})

test('a model with a file has what Unsloth Studio’s clients show of it', () => {
  const file = { quantization: 'Q4_K_M', contextLength: 8192, trainedContextLength: 131_072 }
  const encoded = encodeModel({ ...entry, state: { type: 'stopped' }, file })
  checkModel(encoded)
  expect(encoded).toMatchObject({ quant: 'Q4_K_M', max_context_length: 8192, native_context_length: 131_072, loaded: false })
})

test('a context length that is not known yet is left out', () => {
  const encoded = encodeModel(entry)
  checkModel(encoded)
  expect(Object.keys(encoded)).not.toContain('context_length')
})

test('a model that a server lists has what its list says', () => {
  const encoded = encodeModel({ ...entry, ownedBy: 'system', kind: 'embeddings' })
  checkModel(encoded)
  expect(encoded).toMatchObject({ owned_by: 'system', kind: 'embeddings' })
})

test('a model has its other versions when it is asked for alone', () => {
  const versions = [{ name: 'new', percent: 5, id: 'org/m@new' }]
  expect(encodeModel({ ...entry, versions })).not.toHaveProperty('versions')
  expect(encodeModelDetail({ ...entry, versions }).versions).toEqual([{ name: 'new', percent: 5, model: 'org/m@new' }])
})

test('a list holds every model, in order', () => {
  const other = { ...entry, id: 'other' }
  expect(encodeModelList([entry, other])).toEqual({ object: 'list', data: [encodeModel(entry), encodeModel(other)] })
})

test.each([
  ['healthy', 'healthy'],
  ['half-open', 'half_open'],
  ['unhealthy', 'unhealthy'],
] as const)('a %s server is shown as %s', (state, shown) => {
  const servers = [{ host: 'a:1', state, activeRequests: 2, outstandingTokens: 300 }]
  expect(encodeModelDetail({ ...entry, servers }).servers).toEqual([
    { host: 'a:1', state: shown, active_requests: 2, outstanding_tokens: 300 },
  ])
})
