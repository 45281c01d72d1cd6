import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { CacheType, LoadPhase, LoadProgress, LoadRequest, LoadSettings } from '../../contract/server/lifecycle.ts'
import { pickSpelling } from '../openai/spelling.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { form } from '../wire/form.ts'
import { preview } from '../wire/preview.ts'
import { validate } from '../wire/validate.ts'
import { anyNumber, flag, integerBetween, integerFrom, nonEmptyText, text } from '../wire/wire-types.ts'
import { embeddingLoadFields, modelLoadFields } from './fields.ts'

/** The longest context of any model. */
const maxChunk = 1_048_576

const numberOrAuto = z.union([z.number(), z.literal('auto')]).nullish()

/** tabbyAPI accepts it under two names. */
const draftForm = form({
  draft_model_name: nonEmptyText.nullish(),
  draft_rope_scale: anyNumber,
  draft_rope_alpha: numberOrAuto,
}).nullish()

export const modelLoadSchema = form({
  model_name: nonEmptyText.nullish(),
  name: nonEmptyText.nullish(),
  max_seq_len: integerFrom(-1),
  max_batch_size: integerFrom(1),
  cache_size: integerFrom(1),
  chunk_size: integerBetween(1, maxChunk).nullish(),
  cache_mode: text,
  prompt_template: nonEmptyText.nullish(),
  draft_model: draftForm,
  draft: draftForm,
  rope_scale: anyNumber,
  rope_alpha: numberOrAuto,
  no_flash_attention: flag,
  vision: flag,
  skip_queue: flag,
})
export const embeddingLoadSchema = form({ embedding_model_name: nonEmptyText.nullish(), name: nonEmptyText.nullish() })
const index = indexFields(modelLoadFields)
const embeddingIndex = indexFields(embeddingLoadFields)

/** `template`: the name of a chat template that replaces the model's. */
type DecodedLoad = { readonly request: LoadRequest; readonly template: string | undefined; readonly ignored: readonly string[] }

/** tabbyAPI's `POST /v1/model/load`. Throws `invalid-request` or `unsupported-field` with `param`. */
export function decodeModelLoad(body: unknown): DecodedLoad {
  const wire = validate(modelLoadSchema, body, index)
  const name = pickSpelling(wire, ['model_name', 'name'])
  if (name === undefined) throw missing('model_name')
  const { draft_model: _, draft: __, ...rest } = wire
  const draft = pickSpelling(wire, ['draft_model', 'draft'])
  const draftFields = Object.entries(draft ?? {}).map(([key, value]) => [`draft_model.${key}`, value] as const)
  return {
    request: {
      name,
      settings: readSettings(wire, draft?.draft_model_name),
      reloads: false,
      endsRequests: wire.skip_queue === true,
      waits: true,
      servesNameless: true,
    },
    template: wire.prompt_template ?? undefined,
    ignored: checkFields(index, { ...rest, ...Object.fromEntries(draftFields) }),
  }
}

/** tabbyAPI's `POST /v1/model/embedding/load`. */
export function decodeEmbeddingLoad(body: unknown): Omit<DecodedLoad, 'template'> {
  const wire = validate(embeddingLoadSchema, body, embeddingIndex)
  const name = pickSpelling(wire, ['embedding_model_name', 'name'])
  if (name === undefined) throw missing('embedding_model_name')
  const request = { name, settings: {}, reloads: false, endsRequests: false, waits: true, isBeside: true } as const
  return { request, ignored: checkFields(embeddingIndex, wire) }
}

const names: Readonly<Record<string, string>> = {
  name: 'model_name',
  endsRequests: 'skip_queue',
  'settings.contextLength': 'max_seq_len',
  'settings.slots': 'max_batch_size',
  'settings.batchSize': 'chunk_size',
  'settings.flashAttention': 'no_flash_attention',
  'settings.cacheTypeK': 'cache_mode',
  'settings.cacheTypeV': 'cache_mode',
  'settings.chatTemplate': 'prompt_template',
  'settings.draftModel': 'draft_model.draft_model_name',
  'settings.vision': 'vision',
}

/** tabbyAPI's names for the places of a load. */
export const nameTabbyField: NameOf = (path) => names[path.join('.')] ?? path.join('.')

/** Progress in hundredths: the number of modules is unknown. */
const modules = 100
const components: Readonly<Record<LoadPhase, string | undefined>> = {
  waiting: undefined,
  downloading: 'download',
  verifying: 'verify',
  loading: 'model',
  'warming-up': 'model',
}

/**
 * Creates the frames of a load: for each component the completed modules, each number once. Clients count the ends of models, one or, with
 * a draft model, two, so earlier phases have none.
 */
export function createLoadFrames({ hasDraft }: { readonly hasDraft: boolean }) {
  let component: string | undefined
  let done = 0
  const finish = (model_type: string, count: number) => frame({ model_type, module: count, modules: count, status: 'finished' })
  return {
    progress({ phase, fraction, doneBytes, totalBytes }: LoadProgress): string {
      const next = components[phase]
      if (next === undefined) return ''
      if (next !== component) done = 0
      component = next
      const module = Math.min(modules, Math.floor(fraction * modules))
      if (module <= done) return ''
      done = module
      const bytes = { bytes_done: doneBytes, bytes_total: totalBytes }
      return frame({ model_type: component, module, modules, status: 'processing', ...bytes })
    },
    /** The last frame; an already loaded model counts as one module. */
    end(isNew: boolean): string {
      return (hasDraft ? finish('draft', 1) : '') + finish('model', isNew ? modules : 1)
    },
    error: ({ message }: AppError) => frame({ error: { message, trace: null } }),
  }
}

function readSettings(
  {
    max_seq_len,
    max_batch_size,
    cache_size,
    chunk_size,
    cache_mode,
    no_flash_attention,
    vision,
  }: z.output<typeof modelLoadSchema>,
  draft: string | null | undefined,
): LoadSettings {
  return {
    ...(typeof max_seq_len === 'number' && max_seq_len > 0 && { contextLength: max_seq_len }),
    ...slotsOf({ length: max_seq_len, most: max_batch_size, total: cache_size }),
    ...(typeof chunk_size === 'number' && { batchSize: chunk_size }),
    ...(typeof cache_mode === 'string' && readCacheMode(cache_mode)),
    ...(no_flash_attention === true && { flashAttention: false }),
    ...(typeof vision === 'boolean' && { vision }),
    ...(typeof draft === 'string' && { draftModel: draft }),
  }
}

type CacheRoom = Readonly<Record<'length' | 'most' | 'total', number | null | undefined>>

/** The number of concurrent requests: each has room for its whole context, and together they fit the cache. */
function slotsOf({ length, most, total }: CacheRoom): Pick<LoadSettings, 'slots'> {
  const isSaid = typeof total === 'number' && typeof length === 'number' && length > 0
  if (!isSaid) return typeof most === 'number' ? { slots: most } : {}
  if (total < length)
    throw refused('cache_size', `cache_size ${total} is less than max_seq_len ${length}: one request has no room`)
  return { slots: Math.min(most ?? Number.POSITIVE_INFINITY, Math.floor(total / length)) }
}

function refused(param: string, message: string): AppError {
  return new AppError('invalid-request', message, { param })
}

/** Widths that llama.cpp lacks become the next larger one. */
const cacheModes: Readonly<Record<string, CacheType>> = {
  FP16: 'f16',
  FP8: 'q8_0',
  Q8: 'q8_0',
  Q6: 'q8_0',
  Q4: 'q4_0',
  ...Object.fromEntries([2, 3, 4].map((bits) => [bits, 'q4_0'])),
  ...Object.fromEntries([5, 6, 7, 8].map((bits) => [bits, 'q8_0'])),
  16: 'f16',
}

function readCacheMode(mode: string): Pick<LoadSettings, 'cacheTypeK' | 'cacheTypeV'> {
  const [keys = '', values = keys, more] = mode.split(',').map((part) => part.trim().toUpperCase())
  const [cacheTypeK, cacheTypeV] = [cacheModes[keys], cacheModes[values]]
  if (cacheTypeK !== undefined && cacheTypeV !== undefined && more === undefined) return { cacheTypeK, cacheTypeV }
  const message = `cache_mode: expected FP16, FP8, Q8, Q6, Q4, or bits of keys and values such as 8,4, got ${preview(mode)}`
  throw refused('cache_mode', message)
}

function missing(param: string): AppError {
  return refused(param, `${param} is missing: expected the name of a model`)
}

function frame(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
