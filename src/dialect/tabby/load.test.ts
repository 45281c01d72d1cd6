import { describe, expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import type { LoadProgress } from '../../contract/server/lifecycle.ts'
import { type Field, spellings } from '../wire/field-table.ts'
import { decodeDownload, nameDownloadField } from './download.ts'
import { downloadFields, embeddingLoadFields, modelLoadFields } from './fields.ts'
import { createLoadFrames, decodeEmbeddingLoad, decodeModelLoad } from './load.ts'

const samples: Readonly<Record<string, unknown>> = {
  model_name: 'other',
  embedding_model_name: 'other',
  max_seq_len: 512,
  max_batch_size: 2,
  chunk_size: 64,
  cache_mode: 'Q8',
  prompt_template: 'chatml',
  no_flash_attention: true,
  skip_queue: true,
  backend: 'exllamav3',
  tensor_parallel: true,
  tensor_parallel_backend: 'native',
  gpu_split_auto: false,
  gpu_split: [1, 2],
  autosplit_reserve: [96, 96],
  rope_scale: 2,
  rope_alpha: 2,
  output_chunking: 1,
  vision: true,
  embeddings_device: 'cuda',
  repo_id: 'owner/other',
  revision: 'v2',
  token: 'hf_secret',
  include: ['*Q8*'],
  exclude: ['*Q8*'],
  timeout: 5,
  repo_type: 'lora',
  folder_name: 'mine',
  chunk_limit: 1,
}

const routes = [
  ['model/load', decodeModelLoad, modelLoadFields.filter(({ name }) => !/\.|^cache_size$/.test(name)), 'model_name'],
  ['model/embedding/load', decodeEmbeddingLoad, embeddingLoadFields, 'embedding_model_name'],
  ['download', decodeDownload, downloadFields, 'repo_id'],
] as const satisfies readonly (readonly [string, (body: unknown) => unknown, readonly Field[], string])[]

describe.each(routes)('every field of %s', (_, decode, fields, required) => {
  test.each(fields.flatMap((field: Field) => spellings(field).map((name) => ({ name, field }))))(
    '$name is $field.treatment',
    ({ name, field }) => {
      const base = field.name === required ? {} : { [required]: 'm/m' }
      const sent = { ...base, [name]: samples[field.name] }
      if (field.treatment !== 'refused') return expect(decode(sent)).not.toEqual(decode({ [required]: 'm/m' }))
      expect(() => decode(sent)).toThrow(expect.objectContaining({ code: 'unsupported-field', param: name }))
      for (const value of [null, ...(field.accepts ?? [])]) expect(decode({ ...base, [name]: value })).toEqual(decode(base))
    },
  )

  test('a body without a name is refused', () => {
    expect(() => decode({})).toThrow(expect.objectContaining({ param: required }))
  })
})

describe('a download', () => {
  test.each([
    ['repo_id', 'name'],
    ['repo_id', '../name'],
    ['repo_id', 'owner/repo/file.gguf'],
    ['repo_id', 'owner/repo@main'],
    ['revision', '../main'],
    ['revision', 'a b'],
    ['include', ['[ab].gguf']],
    ['exclude', ['[ab].gguf']],
    ['timeout', 0],
  ])('refuses %s %j', (param, value) => {
    expect(() => decodeDownload({ repo_id: 'owner/repo', [param]: value })).toThrow(expect.objectContaining({ param }))
  })

  test('of all files lets the best be chosen', () => {
    expect(decodeDownload({ repo_id: 'owner/repo', include: ['*'], exclude: [] })).toEqual(
      decodeDownload({ repo_id: 'owner/repo' }),
    )
  })

  test('names the fields of its request', () => {
    expect([nameDownloadField(['files']), nameDownloadField(['name'])]).toEqual(['include', 'repo_id'])
  })
})

test('a draft model is named in an object, whose unknown fields are ignored by name', () => {
  const { request, ignored } = decodeModelLoad({ model_name: 'm', draft_model: { draft_model_name: 'd', mood: 1 } })
  expect(request.settings).toEqual({ draftModel: 'd' })
  expect(ignored).toEqual(['draft_model.mood'])
})

test('the two names of a draft model are one field', () => {
  const named = (draft: string) => ({ draft_model_name: draft })
  for (const fields of [
    { draft: named('d') },
    { draft_model: named('d'), draft: null },
    { draft_model: named('d'), draft: named('d') },
  ]) {
    expect(decodeModelLoad({ model_name: 'm', ...fields }).request.settings).toEqual({ draftModel: 'd' })
  }
  const both = { model_name: 'm', draft_model: named('d'), draft: named('e') }
  expect(() => decodeModelLoad(both)).toThrow(expect.objectContaining({ code: 'invalid-request', param: 'draft' }))
})

test.each([
  ['FP16', 'f16', 'f16'],
  ['q8', 'q8_0', 'q8_0'],
  ['8,4', 'q8_0', 'q4_0'],
  ['fp8', 'q8_0', 'q8_0'],
  ['Q6', 'q8_0', 'q8_0'],
  ['6, 3', 'q8_0', 'q4_0'],
])('cache_mode %s', (mode, cacheTypeK, cacheTypeV) => {
  expect(decodeModelLoad({ model_name: 'm', cache_mode: mode }).request.settings).toEqual({ cacheTypeK, cacheTypeV })
})

test.each(['Q5', '9,4', '8,4,2'])('cache_mode %j is refused', (mode) => {
  expect(() => decodeModelLoad({ model_name: 'm', cache_mode: mode })).toThrow(expect.objectContaining({ param: 'cache_mode' }))
})

/** What loaders with a form send, as it is when it is opened and when it was saved. */
test.each([
  [
    "SillyTavern's, saved",
    {
      name: 'm',
      max_seq_len: '4096',
      rope_scale: '1',
      rope_alpha: '1',
      no_flash_attention: false,
      gpu_split_auto: true,
      cache_mode: 'FP8',
      use_cfg: false,
      draft: { draft_model_name: 'd', draft_rope_scale: '1', draft_rope_alpha: '1' },
    },
    { contextLength: 4096, cacheTypeK: 'q8_0', cacheTypeV: 'q8_0', draftModel: 'd' },
    ['use_cfg'],
  ],
  [
    "Gradio's, with nothing filled in",
    {
      name: 'm',
      max_seq_len: null,
      override_base_seq_len: null,
      gpu_split_auto: true,
      gpu_split: [],
      rope_scale: null,
      rope_alpha: null,
      no_flash_attention: false,
      cache_mode: 'FP16',
      prompt_template: '',
      num_experts_per_token: null,
      draft: null,
    },
    { cacheTypeK: 'f16', cacheTypeV: 'f16' },
    [],
  ],
])('the form of a loader: %s', (_, body, settings, ignored) => {
  expect(decodeModelLoad(body)).toMatchObject({ request: { name: 'm', settings }, ignored })
})

test.each([
  [{ max_seq_len: 1000, cache_size: 4500 }, 4],
  [{ max_seq_len: 1000, cache_size: 4500, max_batch_size: 2 }, 2],
  [{ max_seq_len: 1000, cache_size: 1000, max_batch_size: 9 }, 1],
  [{ max_seq_len: 1000, cache_size: null, max_batch_size: 9 }, 9],
])('%j has room for %i requests at the same time', (sizes, slots) => {
  expect(decodeModelLoad({ model_name: 'm', ...sizes }).request.settings).toEqual({ contextLength: 1000, slots })
})

test.each([{ cache_size: 4096 }, { cache_size: 4096, max_seq_len: -1 }])('%j says nothing about one request', (sizes) => {
  const { request, ignored } = decodeModelLoad({ model_name: 'm', ...sizes })
  expect([request.settings, ignored]).toEqual([{}, ['cache_size']])
})

test('a cache that is smaller than one request is refused', () => {
  const sizes = { cache_size: 4095, max_seq_len: 4096 }
  expect(() => decodeModelLoad({ model_name: 'm', ...sizes })).toThrow(expect.objectContaining({ param: 'cache_size' }))
})

test('what a loader cannot have is named at once', () => {
  const body = { name: 'm', rope_scale: '2.5', gpu_split_auto: false, gpu_split: [10, 12] }
  expect(() => decodeModelLoad(body)).toThrow(/rope_scale 2\.5 .*gpu_split_auto false .*gpu_split \[10,12\]/)
})

describe('the events of a load', () => {
  const at = (phase: LoadProgress['phase'], fraction: number): LoadProgress => ({
    phase,
    fraction,
    doneBytes: fraction * 10,
    totalBytes: 10,
  })
  const read = (text: string) =>
    text
      .split('\n\n')
      .filter((frame) => frame !== '')
      .map((frame) => {
        const { model_type, module, modules, status } = JSON.parse(frame.replace(/^data: /, ''))
        return `${model_type} ${module}/${modules} ${status}`
      })

  test('count each component up, each number once, and end the model', () => {
    const frames = createLoadFrames({ hasDraft: false })
    const steps = [at('waiting', 0), at('downloading', 0.5), at('downloading', 0.501), at('downloading', 1), at('loading', 0)]
    const text =
      [...steps, at('loading', 0.25), at('warming-up', 1)].map((step) => frames.progress(step)).join('') + frames.end(true)
    expect(read(text)).toEqual([
      'download 50/100 processing',
      'download 100/100 processing',
      'model 25/100 processing',
      'model 100/100 processing',
      'model 100/100 finished',
    ])
  })

  test('are one for a model that was loaded', () => {
    expect(read(createLoadFrames({ hasDraft: false }).end(false))).toEqual(['model 1/1 finished'])
  })

  test('have an end for each of two models', () => {
    const frames = createLoadFrames({ hasDraft: true })
    expect(read(frames.progress(at('loading', 0.5)) + frames.end(true))).toEqual([
      'model 50/100 processing',
      'draft 1/1 finished',
      'model 100/100 finished',
    ])
  })

  test('end with an error as tabbyAPI has it', () => {
    expect(createLoadFrames({ hasDraft: false }).error(new AppError('model-unavailable', 'no'))).toBe(
      'data: {"error":{"message":"no","trace":null}}\n\n',
    )
  })
})
