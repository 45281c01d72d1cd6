import { ChurnMap } from '../../base/churn.ts'
import type { Command, Report } from './channel/ipc.ts'
import { decodeFailure } from './failure.ts'
import { Inbox } from './inbox.ts'

/** Routes the worker's reports by id: one inbox for each command that has replies. */
export class Inboxes {
  readonly #inboxes = new ChurnMap<string, Inbox>()
  readonly #steer: (command: Extract<Command, { type: 'pause' | 'resume' }>) => void

  constructor(steer: (command: Extract<Command, { type: 'pause' | 'resume' }>) => void) {
    this.#steer = steer
  }

  open(id: string): Inbox {
    const inbox = new Inbox({
      onFull: () => this.#steer({ type: 'pause', id }),
      onDrained: () => this.#steer({ type: 'resume', id }),
    })
    this.#inboxes.set(id, inbox)
    return inbox
  }

  close(id: string): void {
    this.#inboxes.delete(id)
  }

  deliver(report: Report): void {
    if (!('id' in report)) return
    // A late report for a request that has already ended is dropped.
    const inbox = this.#inboxes.get(report.id)
    if (report.type === 'failed') inbox?.fail(decodeFailure(report.failure))
    else inbox?.push(report)
  }

  failAll(error: unknown): void {
    for (const inbox of this.#inboxes.values()) inbox.fail(error)
  }
}
