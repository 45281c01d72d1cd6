import type { IncomingMessage, ServerResponse } from 'node:http'
import { ChurnSet } from '../base/churn.ts'

type Reply = Pick<ServerResponse, 'headersSent'> & { readonly req: Pick<IncomingMessage, 'complete' | 'destroy' | 'socket'> }

/** `receiving`: the headers have arrived, the body has not arrived completely. */
export type ConnectionStage = 'idle' | 'receiving' | 'replying'

/** Tracks the HTTP requests in flight, by their replies. */
export class InFlightRequests {
  readonly #running = new ChurnSet<Reply>()
  readonly #waiting = new ChurnSet<() => void>()

  enter(reply: Reply): void {
    this.#running.add(reply)
  }

  leave(reply: Reply): void {
    this.#running.delete(reply)
    if (this.#running.size > 0) return
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** The stage of a connection. While `replying`, nothing else may be written to it. */
  stageOf(socket: unknown): ConnectionStage {
    let stage: ConnectionStage = 'idle'
    for (const { req, headersSent } of this.#running) {
      if (req.socket !== socket) continue
      if (req.complete || headersSent) return 'replying'
      stage = 'receiving'
    }
    return stage
  }

  /** Closes the connections of requests that have not arrived completely. */
  closeIncomplete(): void {
    for (const { req } of this.#running) if (!req.complete) req.destroy()
  }

  /** Whether all requests ended within the time. */
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
