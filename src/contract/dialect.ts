import type { AppError } from './errors.ts'
import type { GenerationEvent } from './event.ts'
import type { CanonicalPath } from './field.ts'
import type { GenerationRequest, MediaKind, MediaPart } from './request.ts'
import type { GenerationResult } from './result.ts'

/** A request as it arrived. Header names are in lower case. */
export type CallInput = {
  readonly body: unknown
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** What decoding may need besides the request. */
export type DecodeContext = {
  /** The id of the reply, made by `createId`. */
  readonly id: string
  /** Fetches and checks what a request names by address; absent: addresses are refused. Rejects with `AppError`. */
  readonly fetchMedia?: (url: string, kind: MediaKind) => Promise<MediaPart>
}

/** A validated call, and how to answer it in the caller's words. */
export type DecodedCall = {
  /** One for each prompt of the call, all to the same model; their choices are counted on. */
  readonly requests: readonly [GenerationRequest, ...GenerationRequest[]]
  readonly stream: boolean
  /** Fields of the body that Dragoman does not know; named to the caller in `x-dragoman-ignored`. */
  readonly ignored: readonly string[]
  readonly policy: CallPolicy
  /** What the caller calls a place of the first request: a field name, or a path such as `messages[0].content[1]`. */
  nameOf(path: CanonicalPath): string
  /** A whole reply, as a JSON value. */
  encodeResult(result: GenerationResult): unknown
  /** A new encoder for one stream. */
  createStreamEncoder(): StreamEncoder
}

/** What happens to a call beside its reply. */
export type CallPolicy = {
  /** `go-on`: the generation does not end with its connection (background work). */
  readonly onHangUp: 'cancel' | 'go-on'
}

/** Turns a sealed event stream, which begins with `start`, into server-sent-event text, one event at a time. */
export interface StreamEncoder {
  /** The text to send for this event: zero or more whole frames. The terminal event's text ends the stream. */
  encode(event: GenerationEvent): string
}

/** An error as it goes out. Headers that every protocol has, such as `retry-after`, are added by the HTTP layer. */
export type ErrorReply = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/** One public wire protocol. It does no I/O of its own; `http/serve-dialect.ts` does. */
export interface Dialect {
  /** Throws, or rejects with, `AppError` with `param` for a body that is not valid. */
  decode(input: CallInput, context: DecodeContext): DecodedCall | Promise<DecodedCall>
  /** The ids that this protocol puts on its replies, such as `chatcmpl-…`. */
  createId(): string
  /** A failure that is not part of a stream. */
  encodeError(error: AppError): ErrorReply
  /** What keeps a silent stream alive. */
  readonly heartbeat: string
  /** URL prefixes whose errors are this protocol's, also where there is no route. */
  readonly prefixes: readonly string[]
}
