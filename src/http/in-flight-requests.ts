import type { IncomingMessage, ServerResponse } from 'node:http'

type Reply = Pick<ServerResponse, 'headersSent'> & { readonly req: Pick<IncomingMessage, 'complete' | 'destroy' | 'socket'> }

/** `receiving`: the headers of a request have come, and its body has not, or not all of it. */
export type ConnectionStage = 'idle' | 'receiving' | 'answering'

/** Knows the requests that are being answered, by their replies, and tells when there are none. */
export class InFlightRequests {
  readonly #running = new Set<Reply>()
  readonly #waiting = new Set<() => void>()

  enter(reply: Reply): void {
    this.#running.add(reply)
  }

  leave(reply: Reply): void {
    this.#running.delete(reply)
    if (this.#running.size > 0) return
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Where a connection stands. While a reply is on its way over it, or will be, nothing else may be written to it. */
  stageOf(socket: unknown): ConnectionStage {
    let stage: ConnectionStage = 'idle'
    for (const { req, headersSent } of this.#running) {
      if (req.socket !== socket) continue
      if (req.complete || headersSent) return 'answering'
      stage = 'receiving'
    }
    return stage
  }

  /** Closes the connections of requests that have not arrived whole: nobody knows when they will. */
  cutIncomplete(): void {
    for (const { req } of this.#running) if (!req.complete) req.destroy()
  }

  /** Whether all requests had ended before the time was over. */
  idleWithin(timeoutMs: number): Promise<boolean> {
    if (this.#running.size === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        resolve(true)
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(wake)
        resolve(false)
      }, timeoutMs)
      this.#waiting.add(wake)
    })
  }
}
