import type { BatchWords } from '../../batches/deps.ts'
import type { Batches } from '../../batches/service.ts'
import { AppError } from '../../contract/errors.ts'
import { encodeAnthropicError } from '../../dialect/anthropic/errors.ts'
import { encodeBatchResult } from '../../dialect/openai/batches.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import type { Keeping } from './deps.ts'

export type BatchRouteDeps = Pick<Keeping, 'batches' | 'store'>

/** Throws `unsupported-field` where the server keeps nothing. */
export function batchesOf({ batches, store }: BatchRouteDeps): Batches {
  if (batches !== undefined) return batches
  const why =
    store === undefined
      ? 'a store, and this server has none (storage.database is off)'
      : 'room for files, and this server keeps none (media.files.maxBytes is 0)'
  throw new AppError('unsupported-field', `batches need ${why}; send the requests one by one`)
}

export const batchWords: BatchWords = {
  encodeError: (form, error) => (form === 'anthropic' ? encodeAnthropicError(error) : encodeOpenaiError(error)),
  encodeResult: encodeBatchResult,
}
