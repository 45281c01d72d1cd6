import type { IncomingMessage, ServerResponse } from 'node:http'
import { ActiveRuns } from '../base/active-runs.ts'
import { ChurnSet } from '../base/churn.ts'

type Reply = Pick<ServerResponse, 'headersSent'> & { readonly req: Pick<IncomingMessage, 'complete' | 'destroy' | 'socket'> }

/** `receiving`: the headers have arrived, but not the complete body. */
export type ConnectionStage = 'idle' | 'receiving' | 'replying'

export class InFlightRequests {
  readonly #running = new ChurnSet<Reply>()
  readonly #active = new ActiveRuns()

  enter(reply: Reply): void {
    this.#running.add(reply)
    this.#active.begin()
  }

  leave(reply: Reply): void {
    if (this.#running.delete(reply)) this.#active.end()
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

  /** Whether all requests end within the time. */
  idleWithin(timeoutMs: number): Promise<boolean> {
    return this.#active.idleWithin(timeoutMs)
  }
}
