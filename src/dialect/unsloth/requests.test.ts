import { describe, expect, test } from 'vitest'
import { type Field, spellings } from '../wire/field-table.ts'
import { unslothGenerate } from './dialect.ts'
import { generateFields, loadFields, unloadFields, validateFields } from './fields.ts'
import { decodeLoad, decodeUnload, decodeValidate } from './requests.ts'

const decodeGenerate = (body: unknown) => {
  const call = unslothGenerate.decode({ body, headers: {} }, { id: 'x' })
  if (call instanceof Promise) throw new Error('it decodes at once')
  return { requests: call.requests, ignored: call.ignored }
}
const messages = [{ role: 'user', content: 'hi' }]

/** A value of every field that is not its default. */
const samples: Readonly<Record<string, unknown>> = {
  model_path: 'other',
  hf_token: 't',
  gguf_variant: 'Q8_0',
  load_request_id: 'id',
  max_seq_length: 5,
  chat_template_override: '{{ x }}',
  cache_type_kv: 'q8_0',
  speculative_type: 'ngram-mod',
  n_parallel: 3,
  n_batch: 64,
  gpu_layers: -1,
  force_reload: true,
  force_cancel_active: true,
  is_lora: true,
  load_in_4bit: false,
  trust_remote_code: true,
  gpu_ids: [1],
  n_ubatch: 1,
  load_mode: 'x',
  ctx_checkpoints: 1,
  cache_ram: 1,
  tensor_parallel: true,
  tensor_split: [1],
  gpu_memory_mode: 'manual',
  n_cpu_moe: 1,
  disable_vision: true,
  spec_draft_n_max: 1,
  llama_extra_args: ['--x'],
  model: 'another',
  messages: [{ role: 'user', content: 'other' }],
  system_prompt: 's',
  temperature: 1,
  top_p: 0.5,
  top_k: -1,
  max_new_tokens: 1,
  repetition_penalty: 2,
  presence_penalty: 1,
  image_base64: 'x',
}

const routes = [
  ['load', decodeLoad, loadFields, { model_path: 'm' }],
  ['validate', decodeValidate, validateFields, { model_path: 'm' }],
  ['unload', decodeUnload, unloadFields, { model_path: 'm' }],
  ['generate', decodeGenerate, generateFields, { model: 'm', messages }],
] as const satisfies readonly (readonly [string, (body: unknown) => unknown, readonly Field[], object])[]

describe.each(routes)('every field of %s', (_, decode, fields, base) => {
  test.each(fields.flatMap((field: Field) => spellings(field).map((name) => ({ name, field }))))(
    '$name is $field.treatment',
    ({ name, field }) => {
      const sent = { ...base, [name]: samples[field.name] }
      if (field.treatment === 'refused') {
        expect(() => decode(sent)).toThrow(expect.objectContaining({ code: 'unsupported-field', param: name }))
        for (const value of [null, ...(field.accepts ?? [])]) expect(decode({ ...base, [name]: value })).toEqual(decode(base))
      } else if (field.treatment === 'used') expect(decode(sent)).not.toEqual(decode(base))
      else expect(decode(sent)).toEqual(decode(base))
    },
  )

  test('is in the table, or named as ignored', () => {
    expect(decode({ ...base, something: 1 })).toMatchObject({ ignored: ['something'] })
  })
})

test.each([
  [{ gpu_layers: -2 }, 'gpu_layers: expected an integer of at least -1, got -2'],
  [{ gpu_layers: 2 ** 60 }, 'gpu_layers: expected an integer up to 9007199254740991, got 1152921504606847000'],
  [{ n_batch: 2 ** 40 }, 'n_batch: expected an integer from 1 to 1048576, got 1099511627776'],
])('%j is refused with the range', (fields, message) => {
  expect(() => decodeLoad({ model_path: 'm', ...fields })).toThrow(message)
})
