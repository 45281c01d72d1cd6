import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RunHandle } from '../../core/cancel/cancellations.ts'
import { Waiters } from '../../core/waiters.ts'
import type { SseWriter } from './sse.ts'

type Stream = {
  readonly heartbeat: string
  readonly writer: Pick<SseWriter, 'start'>
  addHeaders?(): void
}

type Outcome =
  | { readonly type: 'ended' }
  | { readonly type: 'json'; readonly value: unknown }
  | { readonly type: 'failed'; readonly error: unknown }

type RecordingOptions = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly handle: Pick<RunHandle, 'signal' | 'cancel'>
  /** How long the work goes on without a reader. */
  readonly graceMs: number
  /** Called when no other request can join any more. */
  onForget(): void
}

/** The reply to a request from its first byte on, for repetitions of the request whose client has lost it. */
export class Recording {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Of a stream, without heartbeats. */
  readonly frames: string[] = []
  /** Absent for whole replies, and before the request is decoded. */
  stream: Stream | undefined = undefined
  /** Absent while the reply is made. */
  outcome: Outcome | undefined = undefined
  readonly #options: RecordingOptions
  readonly #waiters = new Waiters()
  #readers = 1
  #timer: NodeJS.Timeout | undefined = undefined

  constructor(options: RecordingOptions) {
    const { request, reply, handle, onForget } = options
    this.request = request
    this.reply = reply
    this.#options = options
    // Who cancelled it wants another reply.
    handle.signal.addEventListener('abort', onForget, { once: true })
  }

  /** All of its readers have disconnected. */
  get isOrphan(): boolean {
    return this.#readers === 0
  }

  openStream(stream: Stream): void {
    this.stream = stream
    this.#waiters.wake()
  }

  push(text: string): void {
    this.frames.push(text)
    this.#waiters.wake()
  }

  /** The stream has ended. */
  end(): void {
    this.#settle({ type: 'ended' })
  }

  /** The reply is this JSON value. */
  complete(value: unknown): void {
    this.#settle({ type: 'json', value })
  }

  /** The request failed before its reply began. Its next repetition is a new attempt. */
  fail(error: unknown): void {
    this.forget()
    this.#settle({ type: 'failed', error })
  }

  /** Lets no other request join, such as where a stream has failed. */
  forget(): void {
    this.#options.onForget()
  }

  joined(): void {
    clearTimeout(this.#timer)
    this.#readers += 1
  }

  /** A reader's connection is closed. Without another reader, the work goes on for the grace time. */
  left(hasAll: boolean): void {
    this.#readers -= 1
    if (hasAll) this.forget()
    if (this.#readers > 0 || hasAll) return
    const { graceMs, handle } = this.#options
    this.#timer = setTimeout(() => {
      this.forget()
      if (this.outcome === undefined) handle.cancel('client-gone')
    }, graceMs).unref()
  }

  /** Resolves when there is more, or when the signal is aborted. */
  change(signal: AbortSignal): Promise<void> {
    return this.#waiters.wait(signal)
  }

  #settle(outcome: Outcome): void {
    this.outcome ??= outcome
    this.#waiters.wake()
  }
}
