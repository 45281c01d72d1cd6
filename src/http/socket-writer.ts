import type { WebSocket } from 'ws'

/** Text that may wait for a slow reader before it is back-pressure; about what a reply over HTTP has. */
const highWaterBytes = 64 * 1024

type SocketWriterOptions = {
  readonly heartbeatMs: number
  readonly stalledReaderMs: number
  /** Milliseconds of a monotonic clock. */
  now(): number
}

/** Writes to a WebSocket: reports back-pressure, sends pings, and disconnects clients that read nothing and say nothing. */
export class SocketWriter {
  readonly #socket: WebSocket
  readonly #options: SocketWriterOptions
  readonly #timer: NodeJS.Timeout
  /** When the client was last seen to read or to say something. */
  #aliveMs: number

  constructor(socket: WebSocket, options: SocketWriterOptions) {
    this.#socket = socket
    this.#options = options
    this.#aliveMs = options.now()
    const isAlive = () => {
      this.#aliveMs = options.now()
    }
    socket.on('pong', isAlive)
    socket.on('message', isAlive)
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

  /** A connection that broke is closed, and says so itself. */
  readonly #sent = (error?: Error | null): void => {
    if (error === undefined || error === null) this.#aliveMs = this.#options.now()
  }

  readonly #check = (): void => {
    const { stalledReaderMs, now } = this.#options
    if (now() - this.#aliveMs >= stalledReaderMs) this.#socket.terminate()
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }
}
