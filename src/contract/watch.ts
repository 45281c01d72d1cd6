import type { AttemptEnd, AttemptStart } from './attempts.ts'
import type { AppError } from './errors.ts'
import type { EngineEvent, GenerationEvent } from './event.ts'
import type { OnLoading, OnQueued } from './scheduler.ts'
import type { GenerationRecord } from './usage.ts'

/** Hears how one request fares, for those who watch the server. */
export interface RequestWatch {
  /** It is work for a model, and shown from now on. */
  began(model?: string): void
  /** The name of the model that the caller sent. */
  asked(model: string): void
  observe(event: EngineEvent | GenerationEvent): void
  /** Something else than a generation has read so many tokens. */
  hasRead(inputTokens: number): void
  attempted(start: AttemptStart, end: AttemptEnd): void
  /** A generation for it has ended; there may be several. */
  ended(record: GenerationRecord, error?: AppError): void
  /** The reply is an error. */
  failed(error: AppError): void
}

/** A request from its arrival to the end of its reply. */
export interface WatchedRequest extends RequestWatch {
  readonly onQueued: OnQueued
  readonly onLoading: OnLoading
  /** The reply is complete, or its reader has gone. */
  replied(): void
}

/** What is known of a request when it arrives. */
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
  /** It has no reply of its own to wait for, such as a response on a socket. */
  readonly hasNoReply?: true
}
