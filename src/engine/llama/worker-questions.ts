import { AppError } from '../../contract/errors.ts'
import type { QuestionCommand, Report } from './channel/ipc.ts'
import type { Answer, Question } from './channel/questions.ts'
import type { Inboxes } from './inboxes.ts'
import type { Supervisor } from './supervisor.ts'
import { tookTooLong } from './took-too-long.ts'
import { Turns } from './turns.ts'

export type WorkerQuestionsOptions = {
  readonly supervisor: Pick<Supervisor, 'ensureReady' | 'send' | 'steer' | 'abandon'>
  readonly inboxes: Inboxes
  /** How long a question may take, from its own turn on, before the worker counts as hung. */
  readonly timeoutMs: number
}

type Expected = 'prepared' | 'answered' | 'template-used'

/**
 * Asks the worker what it answers once. It works on one question at a time, so the next one is sent when it has answered: only
 * then is a late answer a sign that it hangs, and is known which question it hangs at.
 */
export class WorkerQuestions {
  readonly #options: WorkerQuestionsOptions
  readonly #turns = new Turns()
  /** The failure that all requests of the last worker got, if that worker was ended by somebody else. */
  #endedFromOutside: AppError | undefined
  #asked = 0

  constructor(options: WorkerQuestionsOptions) {
    this.#options = options
  }

  /** A worker has ended; this is what its requests fail with. */
  onExit(error: AppError, { fromOutside }: { readonly fromOutside: boolean }): void {
    this.#endedFromOutside = fromOutside ? error : undefined
  }

  /** Fails every question that was not sent. */
  refuse(error: AppError): void {
    this.#turns.refuse(error)
  }

  /** Requests have ids of their protocols, which never look like this. */
  nextId(): string {
    this.#asked += 1
    return `ask ${this.#asked}`
  }

  /**
   * Runs `work`, an exchange with the worker, after all earlier ones. The caller has awaited `ensureReady`, so that no turn is
   * held while the model loads. If another process killed the worker, the work did not cause it and runs once more.
   */
  inTurn<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { supervisor } = this.#options
    return this.#turns.take(async () => {
      // The worker may have ended during an earlier exchange.
      await supervisor.ensureReady(signal)
      try {
        return await work()
      } catch (error) {
        if (error !== this.#endedFromOutside) throw error
        await supervisor.ensureReady(signal)
        return work()
      }
    }, signal)
  }

  /** A question that is quickly answered, in its turn. */
  ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const work = async () => (await this.exchange({ type: 'ask', id: this.nextId(), question }, 'answered')).answer
    return this.inTurn(work, signal)
  }

  /**
   * A question that computes, on a slot of its own and beside the others. The slot is free only when the worker has stopped: its
   * answer is waited for, also when nobody wants it any more.
   */
  async compute(question: Question, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted()
    const id = this.nextId()
    const cancel = () => this.#options.supervisor.steer({ type: 'cancel', id })
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const { answer } = await this.#send({ type: 'ask', id, question }, 'answered')
      if (answer.type === 'cancelled') throw AppError.from(signal.reason)
      return answer
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  /** Sends a command that has one answer; only in a turn. A worker that does not answer in time is given up. */
  exchange<T extends Expected>(command: QuestionCommand, expected: T): Promise<Extract<Report, { type: T }>> {
    return this.#send(command, expected, this.#options.timeoutMs)
  }

  /** Goes on until the worker has answered or is gone, whoever has left by then. */
  async #send<T extends Expected>(
    command: QuestionCommand,
    expected: T,
    timeoutMs?: number,
  ): Promise<Extract<Report, { type: T }>> {
    const { supervisor, inboxes } = this.#options
    const inbox = inboxes.open(command.id)
    const onHung = (limitMs: number) => {
      const error = tookTooLong(command, limitMs)
      inbox.fail(error)
      supervisor.abandon(error.message)
    }
    const watchdog = timeoutMs === undefined ? undefined : setTimeout(onHung, timeoutMs, timeoutMs)
    try {
      supervisor.send(command)
      const report = await inbox.next()
      if (report.type !== expected) throw unexpected(report)
      return report as Extract<Report, { type: T }>
    } finally {
      clearTimeout(watchdog)
      inboxes.close(command.id)
    }
  }
}

/** An answer of a kind that was not asked for. */
export function unexpected({ type }: Report | Answer): AppError {
  return new AppError('internal', `the worker answered with an unexpected '${type}' message`)
}
