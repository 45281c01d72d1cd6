import { KeyedQueue } from '../base/queue.ts'
import { unlessLong } from '../base/turn.ts'
import { AppError } from '../contract/errors.ts'
import { type ClientEvent, decodeClientEvent } from '../dialect/openai-responses/client-event.ts'
import type { ResponseEvent } from '../dialect/openai-responses/encode/encoder.ts'
import { acceptResponse, type Caller } from './accept.ts'
import type { SentKeys } from './caller-keys.ts'
import type { ResponseRun, RunListener } from './response-run.ts'
import type { ResponsesService } from './service.ts'
import { SessionMemory } from './session-memory.ts'

/** Responses that run or wait on one connection. */
const maxPending = 64

/** One response of a session, for the layer around it. Close it. */
type SessionResponse = {
  readonly caller: Caller
  /** Called when the request has been accepted. */
  accepted(run: ResponseRun): void
  observe: RunListener['observe']
  /** Called when an error is sent in place of the response. */
  failed(): void
  close(): void
}

type SessionOptions = {
  readonly service: ResponsesService
  /** The limit of the session's memory of its responses. */
  readonly memoryBytes: number
  /** Keys for the servers behind models, in all responses of the connection. */
  readonly sentKeys?: SentKeys | undefined
  openTurn(body: unknown): SessionResponse
  /** Sends an event; a promise is back-pressure. `lane` is repeated in it. */
  send(event: ResponseEvent, lane: string | undefined): Promise<void> | undefined
  /** Sends an error that belongs to no response; a promise is back-pressure. */
  sendError(error: AppError, lane: string | undefined): Promise<void> | undefined
  /** Called whenever no response runs or waits any more. */
  onIdle(): void
}

/** A message; `release` is called when its content is no longer needed. */
type SessionMessage = { readonly content: unknown; release(): void }

/** The responses of one connection: one after the other in each lane, continued from the connection's memory or from the store. */
export class ResponsesSession {
  readonly #options: SessionOptions
  readonly #memory: SessionMemory
  readonly #lanes = new KeyedQueue<string | undefined>()
  #pending = 0
  #isClosed = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#memory = new SessionMemory(options.memoryBytes)
  }

  get isIdle(): boolean {
    return this.#pending === 0
  }

  /** Begins a response, or queues it. A promise, for a refusal, is back-pressure. */
  receive(message: SessionMessage): Promise<void> | undefined {
    let event: ClientEvent
    try {
      event = decodeClientEvent(message.content)
    } catch (error) {
      message.release()
      return this.#options.sendError(AppError.from(error), undefined)
    }
    const { streamId } = event
    if (this.#pending === maxPending) {
      message.release()
      const text = `${maxPending} responses run or wait on this connection; wait for one of them, or open another connection`
      return this.#options.sendError(new AppError('queue-full', text), streamId)
    }
    this.#pending += 1
    const turn = this.#lanes.run(streamId, undefined, () => this.#take(event, message))
    void turn.then(() => {
      this.#pending -= 1
      if (this.isIdle) this.#options.onIdle()
    })
    return undefined
  }

  /** Drops everything that still waits. */
  close(): void {
    this.#isClosed = true
  }

  async #take(event: ClientEvent, message: SessionMessage): Promise<void> {
    await unlessLong()
    if (this.#isClosed) return message.release()
    const turn = this.#options.openTurn(event.body)
    const { streamId } = event
    try {
      await this.#run(event, turn)
    } catch (thrown) {
      this.#forgetPrevious(event)
      turn.failed()
      await this.#options.sendError(AppError.from(thrown), streamId)
    } finally {
      turn.close()
      message.release()
    }
  }

  /** Rejects only before the first event is sent. */
  async #run(event: ClientEvent, turn: SessionResponse): Promise<void> {
    const { body, generates, streamId } = event
    const { service, sentKeys } = this.#options
    const recall = (id: string) => this.#memory.recall(id)
    const run = await acceptResponse(service, body, { caller: turn.caller, recall, sentKeys, generates })
    try {
      turn.accepted(run)
      await this.#generate(run, turn, streamId)
      if (run.status === 'failed') this.#forgetPrevious(event)
      else this.#memory.remember(streamId ?? '', run.id, run.history)
    } finally {
      run.close()
    }
  }

  async #generate(run: ResponseRun, turn: SessionResponse, lane: string | undefined): Promise<void> {
    const { send } = this.#options
    let isStart = false
    let held: readonly ResponseEvent[] = []
    const observe: RunListener['observe'] = (event) => {
      isStart = event.type === 'start'
      turn.observe(event)
    }
    const emit: RunListener['emit'] = (events) => {
      // A failure right after the start is an error with a status, as over HTTP.
      held = [...held, ...events]
      if (isStart) return undefined
      let pending: Promise<void> | undefined
      for (const event of held) pending = send(event, lane) ?? pending
      held = []
      return pending
    }
    try {
      await run.run({ observe, emit })
    } catch (error) {
      throw AppError.from(error).inWordsOf(run.parts.decoded.nameOf)
    }
  }

  /** As with OpenAI: the continued response may be the cause of the failure. */
  #forgetPrevious({ previousId }: ClientEvent): void {
    if (previousId !== undefined) this.#memory.forget(previousId)
  }
}
