import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/request.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { flag } from '../wire/wire-types.ts'

const streamIdError = 'up to 256 letters, digits, dots, dashes and underscores'

const schema = looseObject({
  type: z.literal('response.create'),
  stream_id: z
    .string()
    .regex(/^[\w.-]{1,256}$/, { error: streamIdError })
    .nullish(),
  generate: flag,
  background: flag,
})

/** A message that requests a response over a socket. */
export type ClientEvent = {
  /** The lane of the response, which its events repeat. */
  readonly streamId?: string
  /** The response that it continues. */
  readonly previousId?: string
  /** False: the request is only prepared, to be continued later. */
  readonly generates: boolean
  /** The body as it would be sent over HTTP. */
  readonly body: JsonObject
}

/** Throws `invalid-request` and `unsupported-field`. */
export function decodeClientEvent(message: unknown): ClientEvent {
  // `stream` goes without saying.
  const { type: _, stream: __, stream_id: streamId, generate, background, ...body } = validate(schema, message)
  if (background === true) {
    const text = 'background is not supported over a WebSocket; send the request over HTTP'
    throw new AppError('unsupported-field', text, { param: 'background' })
  }
  const { previous_response_id: previousId } = body
  return {
    body,
    generates: generate ?? true,
    ...(typeof streamId === 'string' && { streamId }),
    ...(typeof previousId === 'string' && { previousId }),
  }
}
