import type { AttemptEnd, AttemptStart } from './attempts.ts'
import type { AppError } from './errors.ts'
import type { EngineEvent, GenerationEvent } from './event.ts'
import type { OnLoading, OnQueued } from './scheduler.ts'
import type { GenerationRecord } from './usage.ts'

/** Follows the progress of one request, for those who watch the server. */
export interface RequestWatch {
  /** The request is work for a model, and shown from now on. */
  began(model?: string): void
  /** The name of the model that the caller sent. */
  asked(model: string): void
  observe(event: EngineEvent | GenerationEvent): void
  /** Work other than generating has read this many tokens. */
  hasRead(inputTokens: number): void
  attempted(start: AttemptStart, end: AttemptEnd): void
  /** A generation for the request has ended; there may be several. */
  ended(record: GenerationRecord, error?: AppError): void
  /** The reply is an error. */
  failed(error: AppError): void
}

/** A request from its arrival to the end of its reply. */
export interface WatchedRequest extends RequestWatch {
  readonly onQueued: OnQueued
  readonly onLoading: OnLoading
  /** The reply is complete, or its reader is gone. */
  replied(): void
}

/** The facts known when a request arrives. */
export type ArrivedCall = {
  /** The id of its reply. */
  readonly id: string
  /** The id of its HTTP request, in the log and in the header `x-request-id`. */
  readonly requestId: string
  /** The name of the key. */
  readonly owner: string
  /** The pattern of its route. */
  readonly route: string
  readonly session?: string
  /** The batch whose line it is. */
  readonly batch?: string | undefined
  /** It has no reply of its own to wait for, as for a response on a socket. */
  readonly hasNoReply?: true
}
