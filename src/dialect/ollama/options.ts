import { z } from 'zod'
import type { CanonicalPath } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { type CommonWire, commonShape } from '../openai/common-schema.ts'
import { decodeCommon } from '../openai/decode-common.ts'
import { commonNames } from '../openai/field-names.ts'
import { nameField } from '../wire/field-names.ts'
import { indexFields } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { optionFields } from './fields.ts'

const index = indexFields(optionFields)
const { num_predict: _, ...samplingShape } = Object.fromEntries(Object.entries(commonShape).filter(([name]) => index.has(name)))

/** The types of the other protocols' sampling fields, and of Ollama's own. */
export const options = looseObject(
  { ...samplingShape, num_predict: z.int({ error: 'an integer' }).nullish() },
  // The table lists them, and reports unknown ones.
  { reports: 'never' },
).nullish()

export type OptionsWire = Readonly<Record<string, unknown>> | null | undefined

type DecodedOptions = Pick<GenerationRequest, 'sampling' | 'stop' | 'ignoreEos'> &
  Partial<Pick<GenerationRequest, 'maxOutputTokens' | 'minOutputTokens'>>

/** Absent options get the defaults of the model and of the other protocols, not Ollama's. */
export function decodeOptions(wire: OptionsWire): DecodedOptions {
  const { num_predict: limit, ...rest } = wire ?? {}
  const { sampling, stop, ignoreEos, minOutputTokens } = decodeCommon({ ...rest, model: '' } as CommonWire)
  const isLimited = typeof limit === 'number' && limit >= 0
  return {
    sampling,
    stop,
    ignoreEos,
    ...(minOutputTokens !== undefined && { minOutputTokens }),
    // An empty answer takes one token, which is not shown.
    ...(isLimited && { maxOutputTokens: Math.max(1, limit) }),
  }
}

/** The caller's name for a canonical path that an option decides. */
export function nameOption(wire: OptionsWire, path: CanonicalPath): string {
  if (path[0] === 'maxOutputTokens') return 'options.num_predict'
  return `options.${nameField(commonNames, wire ?? {}, path)}`
}
