import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'
import { Readable, Writable } from 'node:stream'

/** In the place of a request's socket. */
class NoSocket extends EventEmitter {
  readonly remoteAddress = '127.0.0.1'
  readonly destroyed = false
  readonly errored = null
}

export type MemoryRequestParts = {
  readonly method: string
  /** Its path and its query. */
  readonly url: string
  /** Their names are in lower case. */
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Buffer
}

/** A request that is in memory, with what the server reads of Node's. */
export class MemoryRequest extends Readable {
  readonly httpVersion = '1.1'
  readonly httpVersionMajor = 1
  readonly httpVersionMinor = 1
  readonly complete = true
  readonly aborted = false
  readonly socket = new NoSocket()
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[]
  readonly #bytes: Buffer

  constructor({ method, url, headers, body }: MemoryRequestParts) {
    super({ autoDestroy: false })
    this.method = method
    this.url = url
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    this.headers = bytes.length === 0 ? { ...headers } : { ...headers, 'content-length': String(bytes.length) }
    this.rawHeaders = Object.entries(this.headers).flat() as string[]
    this.#bytes = bytes
  }

  override _read(): void {
    if (this.#bytes.length > 0) this.push(this.#bytes)
    this.push(null)
  }
}

/** What becomes of a reply. */
export type ReplySink = {
  /** Called when its status and headers are complete. */
  head?(response: MemoryResponse): void
  write(piece: string | Buffer): void
  end(response: MemoryResponse): void
  /** Called instead of `end` when the reply is broken off. */
  cut(error: unknown): void
  /** Whether its reader has enough for now; then emit `drain` later. */
  readonly isFull?: boolean
}

/** A reply into memory, with what the server and Fastify use of Node's. */
export class MemoryResponse extends Writable {
  statusCode = 200
  headersSent = false
  readonly req: MemoryRequest
  readonly socket: NoSocket
  readonly sink: ReplySink
  /** By names in lower case. */
  readonly headers: { [name: string]: OutgoingHttpHeader } = {}

  constructor(req: MemoryRequest, sink: ReplySink) {
    super({ decodeStrings: false })
    this.req = req
    this.socket = req.socket
    this.sink = sink
  }

  getHeader(name: string): OutgoingHttpHeader | undefined {
    return this.headers[name.toLowerCase()]
  }

  getHeaders(): OutgoingHttpHeaders {
    return { ...this.headers }
  }

  hasHeader(name: string): boolean {
    return name.toLowerCase() in this.headers
  }

  setHeader(name: string, value: OutgoingHttpHeader): this {
    this.headers[name.toLowerCase()] = value
    return this
  }

  removeHeader(name: string): void {
    delete this.headers[name.toLowerCase()]
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.statusCode = status
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) this.setHeader(name, value)
    }
    this.flushHeaders()
    return this
  }

  flushHeaders(): void {
    if (this.headersSent) return
    this.headersSent = true
    this.sink.head?.(this)
  }

  /** There is no connection that could stall. */
  setTimeout(): this {
    return this
  }

  override _write(piece: string | Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.flushHeaders()
    this.sink.write(piece)
    done()
  }

  override _final(done: () => void): void {
    this.flushHeaders()
    this.sink.end(this)
    done()
  }
}

Object.defineProperties(MemoryResponse.prototype, {
  // What is written here is read: there is no socket that a reader could have closed before.
  writableFinished: {
    get(this: MemoryResponse) {
      return this.writableEnded
    },
  },
  writableNeedDrain: {
    get(this: MemoryResponse) {
      return this.sink.isFull ?? false
    },
  },
})
