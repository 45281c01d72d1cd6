import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { ServiceHead, ServiceSink } from '../../contract/services.ts'
import { addLimitHeaders, type LimitReader } from './reply-headers.ts'
import { defaultStalledReaderMs, disconnectStalledReader } from './stalled-reader.ts'

type Deps = LimitReader & { readonly stalledReaderMs?: number }

/** Another server's reply, sent byte by byte as it arrives. End or break it once it has begun. */
export class PassedReply implements ServiceSink {
  readonly #deps: Deps
  readonly #reply: FastifyReply
  #hasBegun = false

  constructor(deps: Deps, reply: FastifyReply) {
    this.#deps = deps
    this.#reply = reply
  }

  /** Whether the status can no longer change. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  begin({ contentType = 'application/octet-stream', contentLength }: ServiceHead): void {
    const { raw, request } = this.#reply
    this.#hasBegun = true
    addLimitHeaders(this.#deps, request, this.#reply)
    this.#reply.hijack()
    const headers: OutgoingHttpHeaders = {
      ...(this.#reply.getHeaders() as OutgoingHttpHeaders),
      'content-type': contentType,
      // Never shown as a page, even if the other server sets the content type of one.
      'x-content-type-options': 'nosniff',
      ...(contentLength !== undefined && { 'content-length': contentLength }),
      // Keeps nginx from buffering it.
      'x-accel-buffering': 'no',
    }
    raw.writeHead(200, headers)
    raw.flushHeaders()
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    const { raw } = this.#reply
    return raw.destroyed || raw.write(bytes) ? undefined : this.#drained()
  }

  end(): void {
    const { raw } = this.#reply
    raw.end()
    disconnectStalledReader(raw, this.#deps)
  }

  /** The rest is missing: the client must not take its part for the whole. */
  break(): void {
    this.#reply.raw.destroy()
  }

  /** Resolves when the reader has caught up or disconnected. */
  async #drained(): Promise<void> {
    const { raw } = this.#reply
    const done = new AbortController()
    const timer = setTimeout(() => raw.destroy(), this.#deps.stalledReaderMs ?? defaultStalledReaderMs)
    try {
      await Promise.race(['drain', 'close'].map((event) => once(raw, event, { signal: done.signal })))
    } finally {
      clearTimeout(timer)
      done.abort()
    }
  }
}
