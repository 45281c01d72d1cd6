import type { IncomingMessage } from 'node:http'

type Incoming = Pick<IncomingMessage, 'complete' | 'destroy'>

/** Knows the requests that are being answered, and tells when there are none. */
export class RunningRequests {
  readonly #running = new Set<Incoming>()
  readonly #waiting = new Set<() => void>()

  enter(request: Incoming): void {
    this.#running.add(request)
  }

  leave(request: Incoming): void {
    this.#running.delete(request)
    if (this.#running.size > 0) return
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Closes the connections of requests that have not arrived whole: nobody knows when they will. */
  cutIncomplete(): void {
    for (const request of this.#running) if (!request.complete) request.destroy()
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
