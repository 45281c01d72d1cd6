import { z } from 'zod'
import { digits } from '../openai/lists.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'

export const retrieveSchema = looseObject({
  stream: z.enum(['true', 'false']).optional(),
  starting_after: digits('a sequence number').optional(),
})

/** The requested form of a response: an object, or a stream of its events. Throws `invalid-request`. */
export function readRetrieveQuery(query: unknown): { readonly stream: boolean; readonly after: number | undefined } {
  const { stream, starting_after: after } = validate(retrieveSchema, query)
  return { stream: stream === 'true', after }
}
