import type { Dispatcher } from 'undici'
import { AppError, messageOf } from '../../../contract/errors.ts'
import { UpstreamError } from './upstream-error.ts'

/** A reply that has begun. Header names are in lower case. */
export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: ReplyBody
}

export type ExchangeOptions = {
  /** Scheme, host and port. */
  readonly origin: string
  /** With its query. */
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body: string | null
}

/** What may wait to be read before the server is made to wait. */
const maxWaitingBytes = 256 * 1024
const drainMs = 1000

/**
 * Sends a request; resolves when the reply begins. The signal closes the connection, whatever it is doing, and its reason is what
 * everything that waits is told.
 *
 * On the dispatcher itself: undici's `request` makes a Node stream of each reply and an iterator of that (a bare
 * proxy of the one kind took 125 µs of CPU for a request of one event, of the other 91 µs).
 */
export function exchange(dispatcher: Dispatcher, options: ExchangeOptions, signal: AbortSignal): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const body = new ReplyBody(signal, reject)
    dispatcher.dispatch(options, {
      onRequestStart: (controller) => body.onStart(controller),
      onResponseStart: (_, status, headers) => {
        // What is below is only about the reply to come.
        if (status >= 200) resolve({ status, headers, body })
      },
      onResponseData: (_, bytes) => body.onBytes(bytes),
      onResponseEnd: () => body.onEnd(),
      onResponseError: (_, error) => body.onError(error),
    })
  })
}

type Reader = { take(bytes: Buffer): Promise<void> | undefined; resolve(): void; reject(error: unknown): void }

/** The bytes of a reply, as they come, for one reader. */
export class ReplyBody {
  readonly #signal: AbortSignal
  /** Tells the one who waits for the reply to begin. */
  readonly #failStart: (error: unknown) => void
  #controller: Dispatcher.DispatchController | undefined
  #pieces: Buffer[] = []
  #waitingBytes = 0
  #reader: Reader | undefined
  #isReaderBusy = false
  #end: { readonly error?: unknown } | undefined
  #timer: NodeJS.Timeout | undefined
  #isUnwanted = false
  #lateEvents = 0

  constructor(signal: AbortSignal, failStart: (error: unknown) => void) {
    this.#signal = signal
    this.#failStart = failStart
    signal.addEventListener('abort', this.#onAbort, { once: true })
    if (signal.aborted) this.#onAbort()
  }

  /** Events that came for a request that had been cancelled: whoever reads gets none of them. */
  get lateEvents(): number {
    return this.#lateEvents
  }

  /**
   * Hands the bytes over in the tick that they come in; while the promise of a hand-over is pending, no more are. Resolves when
   * the reply is over or nothing more of it is wanted; rejects with `engine-failed` when it broke off, for the signal's reason,
   * or with what `take` throws, and then the connection is closed.
   */
  consume(take: (bytes: Buffer) => Promise<void> | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#reader = { take, resolve, reject }
      this.#handOver()
    })
  }

  /** All that is left. Rejects with `engine-failed` when it is more than `most` bytes, and as `consume` does. */
  async readAll(most: number): Promise<Buffer> {
    const all = new Collector(most)
    await this.consume((bytes) => all.push(bytes))
    return all.join()
  }

  /** As much as there is, up to a number of bytes; what broke off counts as far as it came. */
  async readStart(most: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    let length = 0
    try {
      await this.consume((bytes) => {
        pieces.push(bytes)
        length += bytes.length
        if (length >= most) this.leave()
        return undefined
      })
    } catch {
      // What came before it broke is worth as much.
    }
    return Buffer.concat(pieces).subarray(0, most)
  }

  /** Nothing more of it is wanted: closes the connection, unless the reply is over. */
  leave(): void {
    this.#forget()
    if (this.#end === undefined) this.#controller?.abort(new Error('nothing more is wanted'))
  }

  /** The reply has said that it is over: what follows is nothing but the end of its connection's turn, which most servers send at once. */
  drain(): void {
    this.#forget()
    if (this.#end !== undefined) return
    this.#controller?.resume()
    this.#timer = setTimeout(() => this.leave(), drainMs).unref()
  }

  onStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) controller.abort(asError(this.#signal.reason))
  }

  onBytes(bytes: Buffer): void {
    if (this.#signal.aborted) this.#lateEvents += countEvents(bytes)
    if (this.#isUnwanted) return
    this.#pieces.push(bytes)
    this.#waitingBytes += bytes.length
    this.#handOver()
    if (this.#waitingBytes >= maxWaitingBytes) this.#controller?.pause()
  }

  onEnd(): void {
    this.#settle({})
    this.#handOver()
  }

  onError(error: unknown): void {
    this.#settle({ error })
    this.#failStart(error)
    this.#handOver()
  }

  /** Also while the request waits for a connection: whoever waits for it does so no more. */
  readonly #onAbort = (): void => {
    const { reason } = this.#signal
    for (const bytes of this.#pieces) this.#lateEvents += countEvents(bytes)
    this.#settle({ error: reason })
    this.#failStart(reason)
    this.#reader?.reject(reason)
    this.#forget()
    this.#controller?.abort(asError(reason))
  }

  #handOver(): void {
    const reader = this.#reader
    if (reader === undefined || this.#isReaderBusy) return
    for (let bytes = this.#pieces.shift(); bytes !== undefined; bytes = this.#pieces.shift()) {
      this.#waitingBytes -= bytes.length
      let pending: Promise<void> | undefined
      try {
        pending = reader.take(bytes)
      } catch (error) {
        this.#fail(error)
        return
      }
      if (pending !== undefined) {
        this.#isReaderBusy = true
        pending.then(this.#onReaderReady, (error) => this.#fail(error))
        return
      }
    }
    const end = this.#end
    // It may have had enough meanwhile.
    if (end === undefined || this.#reader !== reader) return
    this.#reader = undefined
    if ('error' in end) reader.reject(asCut(end.error, this.#signal))
    else reader.resolve()
  }

  readonly #onReaderReady = (): void => {
    this.#isReaderBusy = false
    this.#handOver()
    if (!this.#isReaderBusy) this.#controller?.resume()
  }

  #fail(error: unknown): void {
    this.#reader?.reject(error)
    this.leave()
  }

  /** Whoever reads has had enough. */
  #forget(): void {
    this.#isUnwanted = true
    this.#pieces = []
    this.#waitingBytes = 0
    this.#reader?.resolve()
    this.#reader = undefined
  }

  #settle(end: { readonly error?: unknown }): void {
    this.#end ??= end
    this.#signal.removeEventListener('abort', this.#onAbort)
    clearTimeout(this.#timer)
  }
}

/** Puts the pieces of a reply together. */
export class Collector {
  readonly #most: number
  readonly #pieces: Buffer[] = []
  #length = 0

  /** `most`: bytes that it may have. */
  constructor(most: number) {
    this.#most = most
  }

  /** Throws `engine-failed` when it is too much. */
  push(bytes: Buffer): undefined {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    if (this.#length > this.#most) throw new AppError('engine-failed', `the server's reply has more than ${this.#most} bytes`)
  }

  join(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}

/** A reply that broke off, unless the caller ended it. */
function asCut(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  const message = `the connection to the server behind this model broke in the middle of its answer: ${messageOf(error)}`
  return new UpstreamError({ type: 'truncated' }, message, { cause: error })
}

function countEvents(bytes: Buffer): number {
  return bytes.toString('latin1').match(/^data:/gm)?.length ?? 0
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
