import type { ServerResponse } from 'node:http'
import { disconnectStalledReader } from './stalled-reader.ts'
import { readerDrained } from './when-closed.ts'

type SseWriterOptions = {
  readonly raw: ServerResponse
  /** Sends status and headers; called once, before the first byte. */
  open(): void
  /** A frame without content, which keeps proxies and clients from timing out. */
  heartbeat(): string
  readonly heartbeatMs: number
  /** Each line is written as a chunk of its own: some clients parse a chunk as one value. */
  readonly isInLines?: boolean
  /** Takes all text as it is sent, also after the client has left. */
  keep?(text: string): void
  /** Everything is sent at the end: until then, the reply has not started. */
  readonly isWhole?: boolean
  readonly stalledReaderMs: number
  /** Milliseconds of a monotonic clock. */
  now(): number
}

/** Text is sent at the end of its tick, or when this much is pending. */
const flushChars = 16 * 1024

/**
 * Writes one stream: batches the text of a tick, sends heartbeats, reports back-pressure, and disconnects stalled
 * readers. It uses a single timer.
 */
export class SseWriter {
  readonly #options: SseWriterOptions
  #pending = ''
  /** Text to send before the next text; it does not start the reply. */
  #held = ''
  #flushScheduled = false
  #started = false
  #lastWriteMs: number
  #timer: NodeJS.Timeout

  constructor(options: SseWriterOptions) {
    this.#options = options
    this.#lastWriteMs = options.now()
    this.#timer = setTimeout(this.#check, Math.min(options.heartbeatMs, options.stalledReaderMs))
  }

  /** Whether the reply's status can no longer change. */
  get started(): boolean {
    return this.#started
  }

  write(text: string): void {
    if (text === '') return
    if (this.#options.isWhole === true && !this.#started) {
      this.#held += text
      return
    }
    this.#started = true
    this.#pending += this.#held + text
    this.#held = ''
    if (this.#pending.length >= flushChars) this.#flush()
    else if (!this.#flushScheduled) {
      this.#flushScheduled = true
      process.nextTick(this.#flush)
    }
  }

  /** Sends the text before the next one; the reply's status can still change. */
  hold(text: string): void {
    this.#held += text
  }

  /** Resolves when the reader has caught up or disconnected; undefined without back-pressure. */
  waitForReader(): Promise<void> | undefined {
    return readerDrained(this.#options.raw)
  }

  /** Commits to a stream, even if it stays empty. */
  start(): void {
    this.#started = true
  }

  /** Sends pending text and ends the reply, if it has started. */
  end(): void {
    clearTimeout(this.#timer)
    const { raw, open, keep, isInLines = false } = this.#options
    if (!this.#started) return
    const text = this.#held + this.#pending
    this.#pending = ''
    keep?.(text)
    if (raw.destroyed) return
    if (!raw.headersSent) open()
    if (isInLines) {
      this.#send(text)
      raw.end()
    } else raw.end(text)
    disconnectStalledReader(raw, this.#options)
  }

  readonly #flush = (): void => {
    this.#flushScheduled = false
    const { raw, open, keep, now } = this.#options
    const text = this.#pending
    this.#pending = ''
    if (text === '') return
    this.#lastWriteMs = now()
    keep?.(text)
    if (raw.destroyed) return
    if (!raw.headersSent) open()
    this.#send(text)
  }

  #send(text: string): void {
    const { raw, isInLines = false } = this.#options
    if (!isInLines) {
      raw.write(text)
      return
    }
    for (let start = 0; start < text.length; ) {
      const end = text.indexOf('\n', start) + 1 || text.length
      // Node 26 joins what is written in one tick, unless it is corked.
      raw.cork()
      raw.write(text.slice(start, end))
      raw.uncork()
      start = end
    }
  }

  readonly #check = (): void => {
    const { raw, heartbeat, heartbeatMs, stalledReaderMs, keep, now } = this.#options
    // Other clients may read what is kept.
    if (raw.destroyed && keep === undefined) return
    const silentMs = now() - this.#lastWriteMs
    if (raw.writableNeedDrain) {
      if (silentMs >= stalledReaderMs) {
        raw.destroy()
        return
      }
    } else if (silentMs >= heartbeatMs) {
      this.write(heartbeat())
      this.#flush()
    }
    const limitsMs = [heartbeatMs, stalledReaderMs]
    const restsMs = limitsMs.map((limitMs) => this.#lastWriteMs + limitMs - now()).filter((restMs) => restMs > 0)
    this.#timer = setTimeout(this.#check, Math.min(...limitsMs, ...restsMs))
  }
}
