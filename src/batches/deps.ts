import type { AppError, ErrorCode } from '../contract/errors.ts'
import type { FileStore } from '../contract/file-store.ts'
import type { Principal } from '../contract/principal.ts'
import type { BatchForm, BatchStore, EndedLine, LineResult } from '../contract/server/batches.ts'
import type { Catalogue } from '../contract/server/catalogue.ts'

/** A line on its way to a model. */
export type SentLine = {
  /** The path of the request. */
  readonly endpoint: string
  /** JSON. */
  readonly body: string
  readonly batch: string
  /** Whose permissions and limits the request has; undefined: the key does not exist any more, and the reply says so. */
  readonly principal: Principal | undefined
  /** Aborted to stop it. */
  readonly signal: AbortSignal
  /** Called when somebody who waits for a reply needs its slot; absent: it keeps its slot. */
  readonly onWanted?: () => void
  /** Called when its prompt is read, if that is known. */
  readonly onRead: () => void
}

export type LineReply = {
  readonly status: number
  readonly requestId: string
  /** JSON. */
  readonly body: string
  /** The code of a failure; not every protocol has one. */
  readonly code?: ErrorCode
  readonly retryAfterMs?: number
}

/** What batches write in the words of their protocols. */
export type BatchWords = {
  encodeError(form: BatchForm, error: AppError): { readonly status: number; readonly body: object }
  /** A line of OpenAI's files of results. */
  encodeResult(batchId: string, line: EndedLine): string
}

export type BatchDeps = {
  readonly words: BatchWords
  readonly store: BatchStore
  readonly files: FileStore
  readonly models: Pick<Catalogue, 'find'>
  /** Sends a line as a request of its owner, behind those of callers that wait. Rejects when there is no reply, such as for an aborted signal. */
  send(line: SentLine): Promise<LineReply>
  /**
   * The owner of the key with this hash, any caller without one; undefined: the key does not exist any more. Rejects with `store-unavailable`
   * where that cannot be known.
   */
  findPrincipal(keyHash: string | undefined): Promise<Principal | undefined>
  readonly maxLineBytes: number
  /** Milliseconds of the epoch. */
  wallClock(): number
  /** Called for each line that has ended here. */
  onEnded(result: LineResult): void
  /** Called every few seconds with the number of lines that wait or run, of all batches. */
  onLeft(count: number): void
  /** Reports a failure that no caller waits for. */
  onFailure(error: unknown, what: string): void
}

/** A process that runs lines, reads them or writes files is presumed dead after this long without a sign of life. */
export const leaseMs = 15_000
