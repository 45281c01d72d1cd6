import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { PageRequest } from '../../contract/store.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'

const digits = (error: string) =>
  z
    .string({ error })
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
const limitError = 'an integer from 1 to 100'

const pageSchema = looseObject({
  after: z.string().nullish(),
  limit: digits(limitError)
    .pipe(z.number().min(1, { error: limitError }).max(100, { error: limitError }))
    .optional(),
  order: z.enum(['asc', 'desc']).optional(),
})

/** The page of a list that a query asks for; by default the 20 newest. Throws `invalid-request`. */
export function readPageQuery(query: unknown): PageRequest {
  const { after, limit = 20, order = 'desc' } = validate(pageSchema, query)
  return { limit, order, ...(typeof after === 'string' && { after }) }
}

/** The same for a list of responses; those of one model cannot be asked for. Throws `invalid-request` or `unsupported-field`. */
export function readListQuery(query: unknown): PageRequest {
  const { model } = validate(looseObject({ model: z.string().optional() }), query)
  if (model === undefined) return readPageQuery(query)
  throw new AppError('unsupported-field', 'model is not supported in a list of responses: leave it out', { param: 'model' })
}

const retrieveSchema = looseObject({
  stream: z.enum(['true', 'false']).optional(),
  starting_after: digits('a sequence number').optional(),
})

/** How a response is asked for: as an object or as a stream of its events. Throws `invalid-request`. */
export function readRetrieveQuery(query: unknown): { readonly stream: boolean; readonly after: number | undefined } {
  const { stream, starting_after: after } = validate(retrieveSchema, query)
  return { stream: stream === 'true', after }
}
