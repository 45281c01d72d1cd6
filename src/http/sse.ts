import type { ServerResponse } from 'node:http'
import { dropStalledReader } from './stalled-reader.ts'

export type SseWriterOptions = {
  readonly raw: ServerResponse
  /** Sends the status and the headers; called once, just before the first byte. */
  open(): void
  /** Frames that say nothing, and keep proxies and clients from giving up. */
  readonly heartbeat: string
  readonly heartbeatMs: number
  readonly stalledReaderMs: number
  /** Milliseconds of a monotonic clock. */
  now(): number
}

/** Text is sent at the end of the tick that it was written in, or when this much has come together. */
const flushChars = 16 * 1024

/**
 * One stream of server-sent events: joins what is written in one tick, sends heartbeats into silence, tells when the
 * reader falls behind, and drops a reader that takes nothing for long. It has one timer, however many events there are.
 */
export class SseWriter {
  readonly #options: SseWriterOptions
  #pending = ''
  /** What goes out in front of the next text, and does not begin the reply by itself. */
  #held = ''
  #flushScheduled = false
  #started = false
  #lastWriteMs: number
  #timer: NodeJS.Timeout

  constructor(options: SseWriterOptions) {
    this.#options = options
    this.#lastWriteMs = options.now()
    this.#timer = setTimeout(this.#check, options.heartbeatMs)
  }

  /** Whether there is something to send, so that the status of the reply can no longer change. */
  get started(): boolean {
    return this.#started
  }

  write(text: string): void {
    if (text === '') return
    this.#started = true
    this.#pending += this.#held + text
    this.#held = ''
    if (this.#pending.length >= flushChars) this.#flush()
    else if (!this.#flushScheduled) {
      this.#flushScheduled = true
      process.nextTick(this.#flush)
    }
  }

  /** Writes this in front of whatever is written next; the reply's status can still change. */
  hold(text: string): void {
    this.#held += text
  }

  /** Resolves when the reader has caught up or is gone; undefined when it keeps up. */
  waitForReader(): Promise<void> | undefined {
    const { raw } = this.#options
    if (!raw.writableNeedDrain || raw.destroyed) return undefined
    return new Promise((resolve) => {
      const done = () => {
        raw.off('drain', done)
        raw.off('close', done)
        resolve()
      }
      raw.on('drain', done)
      raw.on('close', done)
    })
  }

  /** Commits to a stream, even if it stays empty. */
  start(): void {
    this.#started = true
  }

  /** Sends what is left and ends the reply, if it has begun. */
  end(): void {
    clearTimeout(this.#timer)
    const { raw, open } = this.#options
    if (!this.#started || raw.destroyed) return
    if (!raw.headersSent) open()
    const text = this.#held + this.#pending
    this.#pending = ''
    raw.end(text)
    dropStalledReader(raw, this.#options)
  }

  readonly #flush = (): void => {
    this.#flushScheduled = false
    const { raw, open, now } = this.#options
    if (this.#pending === '' || raw.destroyed) return
    if (!raw.headersSent) open()
    const text = this.#pending
    this.#pending = ''
    this.#lastWriteMs = now()
    raw.write(text)
  }

  readonly #check = (): void => {
    const { raw, heartbeat, heartbeatMs, stalledReaderMs, now } = this.#options
    if (raw.destroyed) return
    const silentMs = now() - this.#lastWriteMs
    if (raw.writableNeedDrain) {
      if (silentMs >= stalledReaderMs) {
        raw.destroy()
        return
      }
    } else if (silentMs >= heartbeatMs) {
      this.write(heartbeat)
      this.#flush()
    }
    const nextMs = this.#lastWriteMs + heartbeatMs - now()
    this.#timer = setTimeout(this.#check, nextMs > 0 ? nextMs : heartbeatMs)
  }
}
