import type { WebSocket } from 'ws'

/** Text that may wait for a slow reader before back-pressure begins; about as much as for a reply over HTTP. */
const highWaterBytes = 64 * 1024

type SocketWriterOptions = {
  readonly heartbeatMs: number
  readonly stalledReaderMs: number
  /** Milliseconds of a monotonic clock. */
  now(): number
}

/** Writes to a WebSocket: reports back-pressure, sends pings, and disconnects clients that neither read nor send. */
export class SocketWriter {
  readonly #socket: WebSocket
  readonly #options: SocketWriterOptions
  readonly #timer: NodeJS.Timeout
  /** When the client last read or sent something. */
  #aliveMs: number
  /** The client's latest ping; earlier ones need no answer (RFC 6455, 5.5.3). */
  #ping: Buffer | undefined
  #closing: { readonly code: number; readonly reason: string } | undefined

  constructor(socket: WebSocket, options: SocketWriterOptions) {
    this.#socket = socket
    this.#options = options
    this.#aliveMs = options.now()
    const isAlive = () => {
      this.#aliveMs = options.now()
    }
    socket.on('pong', isAlive)
    socket.on('message', isAlive)
    socket.on('ping', (data) => {
      if (this.#ping === undefined) setImmediate(this.#answerPing)
      this.#ping = data
    })
    this.#timer = setInterval(this.#check, options.heartbeatMs)
    socket.once('close', () => clearInterval(this.#timer))
  }

  /** Resolves when the reader has caught up or disconnected; undefined without back-pressure. */
  send(text: string): Promise<void> | undefined {
    const socket = this.#socket
    if (socket.readyState !== socket.OPEN) return undefined
    if (socket.bufferedAmount < highWaterBytes) {
      socket.send(text, this.#sent)
      return undefined
    }
    return new Promise((resolve) => {
      socket.send(text, (error) => {
        this.#sent(error)
        resolve()
      })
    })
  }

  /** Closes the socket when everything is written: the client's time to answer begins then. */
  close(code: number, reason = ''): void {
    this.#closing ??= { code, reason }
    this.#closeWhenWritten()
  }

  #closeWhenWritten(): void {
    if (this.#closing === undefined || this.#socket.bufferedAmount > 0) return
    this.#socket.close(this.#closing.code, this.#closing.reason)
  }

  /** A broken connection is closed, and reports that itself. */
  readonly #sent = (error?: Error | null): void => {
    if (error === undefined || error === null) this.#aliveMs = this.#options.now()
    this.#closeWhenWritten()
  }

  readonly #answerPing = (): void => {
    const { readyState, OPEN, bufferedAmount } = this.#socket
    if (readyState === OPEN && bufferedAmount < highWaterBytes) this.#socket.pong(this.#ping)
    this.#ping = undefined
  }

  readonly #check = (): void => {
    const { stalledReaderMs, now } = this.#options
    if (now() - this.#aliveMs >= stalledReaderMs) this.#socket.terminate()
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }
}
