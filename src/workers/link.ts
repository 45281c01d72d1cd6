import { z } from 'zod'
import { ChurnMap } from '../base/churn.ts'
import { AppError, messageOf } from '../contract/errors.ts'

/** One end of a channel between two processes. */
export type Port = {
  /** A message to an ended process is lost. */
  send(message: object): void
}

const envelopeSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ask'), id: z.number(), question: z.unknown() }),
  z.object({ type: z.literal('answer'), id: z.number(), answer: z.unknown() }),
  z.object({ type: z.literal('failure'), id: z.number(), message: z.string() }),
])

type Waiting = { resolve(answer: unknown): void; reject(error: Error): void }

/** Questions and answers, in both directions, over a channel between two processes. */
export class Link {
  readonly #port: Port
  readonly #answer: (question: unknown) => unknown
  readonly #waiting = new ChurnMap<number, Waiting>()
  #lastId = 0
  #isClosed = false

  /** `answer` may return a promise; its error is the failure of the question. */
  constructor(port: Port, answer: (question: unknown) => unknown) {
    this.#port = port
    this.#answer = answer
  }

  /** Rejects when the other process ends, or fails to answer. */
  async ask<Answer extends z.ZodType>(question: object, answer: Answer): Promise<z.output<Answer>> {
    if (this.#isClosed) throw gone()
    this.#lastId += 1
    const id = this.#lastId
    const answered = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    this.#port.send({ type: 'ask', id, question })
    return answer.parse(await answered)
  }

  /** Takes a message of the other process. Returns whether it belongs to this link. */
  take(message: unknown): boolean {
    const { data } = envelopeSchema.safeParse(message)
    if (data === undefined) return false
    if (data.type === 'ask') {
      void this.#reply(data.id, data.question)
      return true
    }
    const waiting = this.#waiting.get(data.id)
    this.#waiting.delete(data.id)
    if (data.type === 'answer') waiting?.resolve(data.answer)
    else waiting?.reject(new Error(data.message))
    return true
  }

  /** The other process has ended: open questions fail. */
  close(): void {
    this.#isClosed = true
    for (const { reject } of this.#waiting.values()) reject(gone())
    this.#waiting.clear()
  }

  async #reply(id: number, question: unknown): Promise<void> {
    try {
      const answer = await this.#answer(question)
      this.#port.send({ type: 'answer', id, answer })
    } catch (error) {
      this.#port.send({ type: 'failure', id, message: messageOf(error) })
    }
  }
}

function gone(): AppError {
  return new AppError('internal', 'another process of this server has ended')
}
