import type { Worker } from 'node:cluster'

/** A connection, as Node passes it to a worker. */
type Handle = { close(...rest: unknown[]): void }
type Send = (message: object, handle?: Handle, ...rest: unknown[]) => boolean

/** An answer that the worker wrote before it ended is read within this time. */
const lastWordsMs = 100

/**
 * Connections passed to workers but not yet taken. The primary process holds them until then; if a worker ends before it confirms, Node
 * would hold them forever (nodejs/node-v0.x-archive#7006), and their clients would wait.
 */
export class Handover {
  readonly #given = new Map<Handle, Worker>()

  /** Closes untaken connections of a worker that ends. */
  watch(worker: Worker): void {
    const child = worker.process
    const send = child.send.bind(child) as Send
    const watched: Send = (message, handle, ...rest) => {
      if (handle !== undefined && 'act' in message && message.act === 'newconn') this.#give(handle, worker)
      return send(message, handle, ...rest)
    }
    child.send = watched as typeof child.send
    worker.once('exit', () => setTimeout(() => this.#closeOf(worker), lastWordsMs).unref())
  }

  #closeOf(worker: Worker): void {
    for (const [handle, holder] of this.#given) if (holder === worker) handle.close()
  }

  /** Node closes it when a worker has taken it; the connection of an ended worker goes to another. */
  #give(handle: Handle, worker: Worker): void {
    const isKnown = this.#given.has(handle)
    this.#given.set(handle, worker)
    if (isKnown) return
    const close = handle.close.bind(handle)
    handle.close = (...rest) => {
      this.#given.delete(handle)
      close(...rest)
    }
  }
}
