import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { disconnectStalledReader } from '../reply/stalled-reader.ts'
import { readerDrained, whenClosed } from '../reply/when-closed.ts'

/** A longer stream is not kept for repetitions. */
const mostBytes = 16 * 1024 * 1024

type KeptReplyOptions = {
  /** How long the work goes on without a reader. */
  readonly graceMs: number
  /** Called when no other request can join any more. */
  onForget(): void
}

/**
 * Takes the place of a client's connection: what a handler writes goes to all readers, and is kept for those who join later. It closes as a
 * connection does whose client hangs up, but only when no reader has been there for the grace time.
 */
export class KeptReply extends Writable {
  headersSent = false
  statusCode = 200
  /** Of a stream that has begun. */
  headers: OutgoingHttpHeaders | undefined = undefined
  /** Resolves when a stream begins. */
  readonly started: Promise<void>
  readonly #options: KeptReplyOptions
  /** Those who wait for the reply to begin, and those who get its stream. */
  readonly #readers = new Set<ServerResponse>()
  readonly #streaming = new Set<ServerResponse>()
  #chunks: Buffer[] = []
  #sizeBytes = 0
  #isForgotten = false
  #isComplete = false
  #timer: NodeJS.Timeout | undefined = undefined
  #begin: () => void = () => undefined

  constructor(options: KeptReplyOptions) {
    super()
    this.#options = options
    this.started = new Promise((resolve) => {
      this.#begin = resolve
    })
  }

  /** All of its readers have disconnected. */
  get isOrphan(): boolean {
    return this.#readers.size === 0
  }

  /** Counts a client as reader until its connection is closed. */
  join(raw: ServerResponse): void {
    clearTimeout(this.#timer)
    this.#readers.add(raw)
    whenClosed(raw, () => this.#leave(raw))
  }

  /** Sends the stream from its beginning on. */
  streamTo(raw: ServerResponse): void {
    for (const chunk of this.#chunks) raw.write(chunk)
    this.#streaming.add(raw)
    if (this.#isComplete) this.#endStream(raw)
  }

  /** Lets no other request join. */
  forget(): void {
    this.#isForgotten = true
    this.#options.onForget()
  }

  writeHead(_status: number, headers: OutgoingHttpHeaders): void {
    this.headersSent = true
    this.headers = headers
    this.#begin()
  }

  getHeaders(): OutgoingHttpHeaders {
    return {}
  }

  setTimeout(): void {
    // Each reader has its own limit.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#sizeBytes += chunk.length
    if (this.#sizeBytes > mostBytes && !this.#isForgotten) this.forget()
    if (!this.#isForgotten || this.#streaming.size < this.#readers.size) this.#chunks.push(chunk)
    else this.#chunks = []
    for (const raw of this.#streaming) raw.write(chunk)
    void Promise.all([...this.#streaming].map(readerDrained)).then(() => done())
  }

  override _final(done: () => void): void {
    this.#isComplete = true
    for (const raw of this.#streaming) this.#endStream(raw)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isComplete) {
      this.forget()
      for (const raw of this.#readers) raw.destroy()
    }
    done(error)
  }

  #endStream(raw: ServerResponse): void {
    raw.end()
    disconnectStalledReader(raw, {})
  }

  #leave(raw: ServerResponse): void {
    this.#readers.delete(raw)
    this.#streaming.delete(raw)
    if (raw.writableFinished) this.forget()
    if (!this.isOrphan) return
    if (this.#isForgotten) {
      this.destroy()
      return
    }
    this.#timer = setTimeout(() => {
      this.forget()
      this.destroy()
    }, this.#options.graceMs).unref()
  }
}
