import { ChurnMap } from '../../base/churn.ts'
import { AppError } from '../../contract/errors.ts'
import type { Command, RequestReport } from './channel/ipc.ts'

type Flow = 'pause' | 'resume'

/** The unread reports of a worker about one request. When the reader is too slow, `steer` pauses the worker's generation for it. */
export class Inbox {
  static readonly #full = 64
  static readonly #drained = 8
  /** Each returns a report, or throws the error of the ended worker. */
  readonly #items: (() => RequestReport)[] = []
  readonly #steer: (how: Flow) => void
  #paused = false
  #wake: (() => void) | undefined

  constructor(steer: (how: Flow) => void) {
    this.#steer = steer
  }

  push(report: RequestReport): void {
    this.#add(() => report)
    if (this.#items.length < Inbox.#full || this.#paused) return
    this.#paused = true
    this.#steer('pause')
  }

  fail(error: unknown): void {
    this.#add(() => {
      throw error
    })
  }

  /** The next report, in order. Throws the error given to `fail`, after all earlier reports. */
  async next(): Promise<RequestReport> {
    while (this.#items.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const item = this.#items.shift() as () => RequestReport
    if (this.#paused && this.#items.length <= Inbox.#drained) {
      this.#paused = false
      this.#steer('resume')
    }
    return item()
  }

  #add(item: () => RequestReport): void {
    this.#items.push(item)
    this.#wake?.()
    this.#wake = undefined
  }
}

/** Routes the worker's reports by id: one inbox for each command that has replies. */
export class Inboxes {
  readonly #inboxes = new ChurnMap<string, Inbox>()
  readonly #steer: (command: Extract<Command, { type: Flow }>) => void

  constructor(steer: (command: Extract<Command, { type: Flow }>) => void) {
    this.#steer = steer
  }

  open(id: string): Inbox {
    const inbox = new Inbox((type) => this.#steer({ type, id }))
    this.#inboxes.set(id, inbox)
    return inbox
  }

  close(id: string): void {
    this.#inboxes.delete(id)
  }

  /** A late report for a request that has already ended is dropped. */
  deliver(report: RequestReport): void {
    const inbox = this.#inboxes.get(report.id)
    if (report.type === 'failed') {
      const { code, message, ...options } = report.failure
      inbox?.fail(new AppError(code, message, options))
    } else inbox?.push(report)
  }

  failAll(error: unknown): void {
    for (const inbox of this.#inboxes.values()) inbox.fail(error)
  }
}
