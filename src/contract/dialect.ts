import type { AppError } from './errors.ts'
import type { GenerationEvent, StartEvent } from './event.ts'
import type { CanonicalPath } from './field.ts'
import type { GenerationRequests } from './request.ts'
import type { GenerationResult } from './result.ts'
import type { StoredResponse } from './store.ts'

/** A request as it arrived. Header names are in lower case. */
export type CallInput = {
  readonly body: unknown
  /** The text of the body, if one of its numbers may have more digits than `body` holds. */
  readonly exactBody?: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** Facts that decoders may use besides the request. */
export type DecodeContext = {
  /** The id of the reply, made by `createId`. */
  readonly id: string
  /** The id of the HTTP request, for errors inside a stream. */
  readonly requestId?: string
  /** The id of the caller's principal, for content that only this caller may send back. */
  readonly owner?: string
  /** Names of the server's tools, and of its MCP servers, that the caller may use; absent: none. */
  readonly serverTools?: ReadonlySet<string>
  /** The client understands Unsloth's frames about server tools, which break OpenAI's SDKs. */
  readonly readsToolFrames?: true
  /** Chat completions are stored unless the request has `store: false`. */
  readonly keepsCompletions?: true
}

/** A validated call, and how to encode its reply. */
export type DecodedCall = {
  /** One per prompt of the call, all for the same model; choice numbers continue from one to the next. */
  readonly requests: GenerationRequests
  readonly stream: boolean
  /** Unknown fields of the body, reported in `x-dragoman-ignored`. */
  readonly ignored: readonly string[]
  /** Absent: unchanged. */
  readonly keepLoaded?: KeepLoaded
  /** The caller's name for a path in the first request: a field, or a path such as `messages[0].content[1]`. */
  nameOf(path: CanonicalPath): string
  /** Throws if the model that serves the call cannot do what it asks for; absent: nothing to check. */
  checkStart?(start: StartEvent): void
  /** Sees each event before it is encoded; absent: nobody watches. */
  observe?(event: GenerationEvent): void
  /** The call and its reply in the form to store for the caller; absent: nothing is stored. */
  toStored?(result: GenerationResult): Omit<StoredResponse, 'owner'>
  /** The media type of a complete reply that is a text rather than a JSON value; absent: JSON. */
  readonly resultType?: string
  /** A complete reply, as a JSON value. */
  encodeResult(result: GenerationResult): unknown
  createStreamEncoder(): StreamEncoder
}

/** How long the model stays loaded when idle after a call, and the field that says so. */
export type KeepLoaded = { readonly ms: number; readonly field: string }

/** Encodes a sealed event stream, which begins with `start`, one event at a time. */
export interface StreamEncoder {
  /** The text for this event: zero or more complete frames. The text of the terminal event ends the stream. */
  encode(event: GenerationEvent): string
}

/** An encoded error. The HTTP layer adds headers common to all protocols, such as `retry-after`. */
export type ErrorReply = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/** One public wire protocol, without I/O, which is in `http/run/serve-dialect.ts`. */
export interface Dialect {
  /** Throws or rejects with an `AppError` with `param` for an invalid body. */
  decode(input: CallInput, context: DecodeContext): DecodedCall | Promise<DecodedCall>
  /** A new reply id of this protocol, such as `chatcmpl-…`. */
  createId(): string
  /** Encodes a failure outside of a stream; `requestId` is that of the HTTP request. */
  encodeError(error: AppError, requestId?: string): ErrorReply
  /** `lines`: a stream of JSON objects, each on a line and in a chunk of its own; absent: server-sent events. */
  readonly framing?: 'lines'
  /** The frame that keeps a silent stream alive; empty: none. */
  readonly heartbeat: string
  /** URL prefixes whose errors use this protocol, including unknown routes. */
  readonly prefixes: readonly string[]
}
