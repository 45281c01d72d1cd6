import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import { cacheTypes, type LoadRequest, type LoadSettings, type ModelWanted } from '../../contract/server/lifecycle.ts'
import { readAccessKey } from '../wire/access-key.ts'
import { form } from '../wire/form.ts'
import { bodyReader } from '../wire/validate.ts'
import { flag, integerBetween, integerFrom, nonEmptyText, text } from '../wire/wire-types.ts'
import { loadFields, unloadFields, validateFields } from './fields.ts'

const maxContext = 1_048_576
const maxBatch = maxContext
const id = 'a string of 1 to 128 characters'
const loadRequestId = z.string({ error: id }).min(1, { error: id }).max(128, { error: id }).nullish()
const wanted = { model_path: nonEmptyText, hf_token: text, gguf_variant: nonEmptyText.nullish() }

export const loadSchema = form({
  ...wanted,
  load_request_id: loadRequestId,
  max_seq_length: integerBetween(0, maxContext).nullish(),
  chat_template_override: text,
  cache_type_kv: z.enum(cacheTypes).nullish(),
  speculative_type: z.enum(['default', 'off', 'ngram-simple', 'ngram-mod']).nullish(),
  n_parallel: integerFrom(1),
  n_batch: integerBetween(1, maxBatch).nullish(),
  gpu_layers: integerFrom(-1),
  force_reload: flag,
  force_cancel_active: flag,
  disable_vision: flag,
  is_lora: flag,
  load_in_4bit: flag,
})
export const validateSchema = form(wanted)
export const unloadSchema = form({
  model_path: nonEmptyText.nullish(),
  load_request_id: loadRequestId,
  force_cancel_active: flag,
})

const readLoad = bodyReader(loadSchema, loadFields)
const readValidate = bodyReader(validateSchema, validateFields)
const readUnload = bodyReader(unloadSchema, unloadFields)

type Decoded<T> = { readonly request: T; readonly ignored: readonly string[] }
type WireWanted = Pick<z.output<typeof validateSchema>, keyof typeof wanted>
type WireLoad = z.output<typeof loadSchema>

/** `POST /api/inference/load`. Throws `invalid-request` or `unsupported-field` with `param`. */
export function decodeLoad(body: unknown): Decoded<LoadRequest> & { readonly loadRequestId: string | undefined } {
  const { wire, ignored } = readLoad(body)
  const request = {
    ...readWanted(wire),
    settings: readSettings(wire),
    reloads: wire.force_reload === true,
    endsRequests: wire.force_cancel_active === true,
  }
  return { request, ignored, loadRequestId: wire.load_request_id ?? undefined }
}

/** `POST /api/inference/validate`. */
export function decodeValidate(body: unknown): Decoded<ModelWanted> {
  const { wire, ignored } = readValidate(body)
  return { request: readWanted(wire), ignored }
}

type Unload =
  | { readonly name: string; readonly loadRequestId: undefined; readonly endsRequests: boolean }
  | { readonly name: string | undefined; readonly loadRequestId: string }

/** `POST /api/inference/unload`: a model, or one load by its id, without a model. */
export function decodeUnload(body: unknown): Decoded<Unload> {
  const { wire, ignored } = readUnload(body)
  const { model_path: name, load_request_id: loadRequestId, force_cancel_active } = wire
  if (isSet(loadRequestId)) return { request: { name: name ?? undefined, loadRequestId }, ignored }
  if (!isSet(name)) {
    const message = 'model_path is missing: name the model to unload, or send the load_request_id of the load to cancel'
    throw new AppError('invalid-request', message, { param: 'model_path' })
  }
  return { request: { name, loadRequestId: undefined, endsRequests: force_cancel_active === true }, ignored }
}

const names: Readonly<Record<string, string>> = {
  name: 'model_path',
  variant: 'gguf_variant',
  token: 'hf_token',
  endsRequests: 'force_cancel_active',
  'settings.contextLength': 'max_seq_length',
  'settings.chatTemplate': 'chat_template_override',
  'settings.cacheTypeK': 'cache_type_kv',
  'settings.cacheTypeV': 'cache_type_kv',
  'settings.speculation': 'speculative_type',
  'settings.slots': 'n_parallel',
  'settings.batchSize': 'n_batch',
  'settings.gpuLayers': 'gpu_layers',
  'settings.vision': 'disable_vision',
}

/** Unsloth's names for the places of a load. */
export const nameLoadField: NameOf = (path) => names[path.join('.')] ?? path.join('.')

function readWanted({ model_path: name, hf_token, gguf_variant: variant }: WireWanted): ModelWanted {
  const token = readAccessKey('hf_token', hf_token)
  return {
    name,
    ...(typeof variant === 'string' && { variant }),
    ...(token !== undefined && { token }),
  }
}

function readSettings(wire: WireLoad): LoadSettings {
  const { max_seq_length, chat_template_override, cache_type_kv, speculative_type, n_parallel, n_batch, gpu_layers } = wire
  const speculation = speculative_type === 'default' ? undefined : speculative_type
  return {
    ...(isSet(max_seq_length) && max_seq_length > 0 && { contextLength: max_seq_length }),
    ...(isSet(chat_template_override) && chat_template_override.trim() !== '' && { chatTemplate: chat_template_override }),
    ...(isSet(cache_type_kv) && { cacheTypeK: cache_type_kv, cacheTypeV: cache_type_kv }),
    ...(isSet(speculation) && { speculation }),
    ...(wire.disable_vision === true && { vision: false }),
    ...(isSet(n_parallel) && { slots: n_parallel }),
    ...(isSet(n_batch) && { batchSize: n_batch }),
    ...(isSet(gpu_layers) && { gpuLayers: gpu_layers === -1 ? 'auto' : gpu_layers }),
  }
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}
