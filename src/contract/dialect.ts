import type { AppError } from './errors.ts'
import type { GenerationEvent } from './event.ts'
import type { GenerationRequest } from './request.ts'
import type { GenerationResult } from './result.ts'

/** A validated call, and how to answer it in the caller's words. */
export type DecodedCall = {
  /** One for each prompt of the call, all to the same model; their choices are counted on. */
  readonly requests: readonly [GenerationRequest, ...GenerationRequest[]]
  readonly stream: boolean
  /** Fields of the body that Dragoman does not know; named to the caller in `x-dragoman-ignored`. */
  readonly ignored: readonly string[]
  /** A whole reply, as a JSON value. `model` is the id of the model that served it. */
  encodeResult(result: GenerationResult, model: string): unknown
  /** A new encoder for one stream. */
  createStreamEncoder(model: string): StreamEncoder
}

/** Turns a sealed event stream into server-sent-event text, one event at a time. */
export interface StreamEncoder {
  /** The text to send for this event: zero or more whole frames. The terminal event's text ends the stream. */
  encode(event: GenerationEvent): string
}

/** One public wire protocol. Everything here is pure; `http/serve-dialect.ts` does the I/O. */
export interface Dialect {
  /** Throws `AppError` with `param` for a body that is not valid. */
  decode(body: unknown, requestId: string): DecodedCall
  /** The ids that this protocol puts on its replies, such as `chatcmpl-…`. */
  createId(): string
  /** The body of an error reply that is not a stream. */
  encodeError(error: AppError): unknown
  /** What keeps a silent stream alive. */
  readonly heartbeat: string
}
