import type { AppError } from '../../contract/errors.ts'
import type { LoadPhase, LoadProgress } from '../../contract/server/lifecycle.ts'
import { checkFields, type FieldIndex, indexFields } from '../wire/field-table.ts'
import { validate } from '../wire/validate.ts'
import { encodeOllamaError } from './errors.ts'
import { deleteFields, pullFields, showFields } from './fields.ts'
import type { OllamaError, PullProgress } from './replies.ts'
import { namedModel } from './require-model.ts'
import { namedSchema } from './schema.ts'

type Named = { readonly name: string; readonly ignored: readonly string[] }

const showIndex = indexFields(showFields)
const pullIndex = indexFields(pullFields)
const deleteIndex = indexFields(deleteFields)

export const decodeShow = (body: unknown): Named => decodeNamed(body, showIndex)
export const decodeDelete = (body: unknown): Named => decodeNamed(body, deleteIndex)

export function decodePull(body: unknown): Named & { readonly isStreamed: boolean } {
  const { stream } = validate(namedSchema, body)
  return { ...decodeNamed(body, pullIndex), isStreamed: stream ?? true }
}

function decodeNamed(body: unknown, index: FieldIndex): Named {
  const wire = validate(namedSchema, body)
  return { name: namedModel(wire), ignored: checkFields(index, wire) }
}

/** Enough for a progress bar to move smoothly. */
const lineEveryMs = 250

/** The lines of a streamed pull. `digest`: identifies the file, since clients keep a bar for each. */
export function createPullLines({ digest, now }: { readonly digest: string; now(): number }) {
  let phase: LoadPhase | undefined
  let lastMs = Number.NEGATIVE_INFINITY
  return {
    begin: () => line({ status: 'pulling manifest' }),
    /** Empty for progress that is not worth a line. */
    progress(progress: LoadProgress): string {
      const isNew = progress.phase !== phase
      const isComplete = progress.totalBytes > 0 && progress.doneBytes >= progress.totalBytes
      if (!isNew && !isComplete && now() - lastMs < lineEveryMs) return ''
      phase = progress.phase
      lastMs = now()
      switch (progress.phase) {
        case 'downloading':
          return line({
            status: `pulling ${digest.slice(0, 12)}`,
            digest: `sha256:${digest}`,
            total: progress.totalBytes,
            completed: progress.doneBytes,
          })
        case 'verifying':
          return isNew ? line({ status: 'verifying sha256 digest' }) : ''
        case 'loading':
          return isNew ? line({ status: 'writing manifest' }) : ''
        case 'waiting':
        case 'warming-up':
          return ''
      }
    },
    end: () => line({ status: 'success' }),
    error: (error: AppError) => line(encodeOllamaError(error).body),
  }
}

function line(value: PullProgress | OllamaError): string {
  return `${JSON.stringify(value)}\n`
}

const searchesInChats =
  "Ollama's searches run on its own servers: here a model searches in a chat (enable_tools of POST /v1/chat/completions), where the operator allows it"

/** Routes that change models or search, and why they are not served. */
export const refusedRoutes = [
  { method: 'POST', path: '/api/push', why: 'Dragoman cannot push models' },
  {
    method: 'POST',
    path: '/api/create',
    why: 'Dragoman makes no models from a Modelfile: add the model to the configuration',
  },
  { method: 'POST', path: '/api/copy', why: 'Dragoman cannot copy models: give the model an alias in the configuration' },
  {
    method: 'POST',
    path: '/api/blobs/:digest',
    why: 'Dragoman takes no files of models: add the model to the configuration',
  },
  { method: 'POST', path: '/api/web_search', why: searchesInChats },
  { method: 'POST', path: '/api/web_fetch', why: searchesInChats },
] as const
