import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { LoadRequest, LoadSettings, ModelWanted } from '../../contract/server/lifecycle.ts'
import { bodyReader } from '../wire/validate.ts'
import { downloadFields, loadFields, unloadFields } from './fields.ts'
import { downloadSchema, loadSchema, unloadSchema } from './schema.ts'

const readLoad = bodyReader(loadSchema, loadFields)
const readUnload = bodyReader(unloadSchema, unloadFields)
const readDownload = bodyReader(downloadSchema, downloadFields)

type Ignored = { readonly ignored: readonly string[] }

/** `POST /api/v1/models/load`. Throws `invalid-request` or `unsupported-field` with `param`. */
export function decodeLoad(body: unknown): Ignored & { readonly request: LoadRequest; readonly echoes: boolean } {
  const { wire, ignored } = readLoad(body)
  const { model: name, context_length: contextLength, eval_batch_size: batchSize, flash_attention: flashAttention } = wire
  const settings: LoadSettings = {
    ...(typeof contextLength === 'number' && { contextLength }),
    ...(typeof batchSize === 'number' && { batchSize }),
    ...(typeof flashAttention === 'boolean' && { flashAttention }),
  }
  // A load without settings leaves a loaded model as it is.
  const request = { name, settings, keepsSettings: true, reloads: false, endsRequests: false } as const
  return { request, ignored, echoes: wire.echo_load_config === true }
}

/** `POST /api/v1/models/unload`. */
export function decodeUnload(body: unknown): Ignored & { readonly name: string } {
  const { wire, ignored } = readUnload(body)
  return { name: wire.instance_id, ignored }
}

/** `POST /api/v1/models/download`. */
export function decodeDownload(body: unknown): Ignored & { readonly wanted: ModelWanted } {
  const { wire, ignored } = readDownload(body)
  const { model, quantization } = wire
  const [, repository] = /^https?:\/\/(?:huggingface\.co|hf\.co)\/([^/]+\/[^/?#]+)\/?$/i.exec(model) ?? []
  if (repository === undefined && typeof quantization === 'string') {
    const message = `quantization ${JSON.stringify(quantization)} goes with a link to a repository of Hugging Face, which model is not`
    throw new AppError('invalid-request', message, { param: 'quantization' })
  }
  return { wanted: { name: repository ?? model, ...(typeof quantization === 'string' && { variant: quantization }) }, ignored }
}

const names: Readonly<Record<string, string>> = {
  name: 'model',
  variant: 'quantization',
  'settings.contextLength': 'context_length',
  'settings.batchSize': 'eval_batch_size',
  'settings.flashAttention': 'flash_attention',
}

/** The names for the places of a load. */
export const nameLoadField: NameOf = (path) => names[path.join('.')] ?? path.join('.')
