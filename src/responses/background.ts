import { ActiveRuns } from '../base/active-runs.ts'
import { ChurnMap } from '../base/churn.ts'
import type { Emit } from '../base/emit.ts'
import type { GenerationEvent } from '../contract/event.ts'
import { FollowedLog } from '../core/followed-log.ts'
import type { ResponseEvent } from '../dialect/openai-responses/encode/encoder.ts'
import type { ResponsesDeps } from './deps.ts'
import { leaseMs, type ResponseRun } from './response-run.ts'

/** How often leases are renewed, which also shows cancels from other processes. */
const renewEveryMs = 2000

type LiveResponse = {
  readonly run: ResponseRun
  readonly log: EventLog
  /** Resolves when it has ended and is stored. */
  readonly ended: Promise<void>
}

/** The background responses of this process. They outlive the requests that created them. */
export class BackgroundResponses {
  readonly #deps: ResponsesDeps
  readonly #live = new ChurnMap<string, LiveResponse>()
  readonly #active = new ActiveRuns()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: ResponsesDeps) {
    this.#deps = deps
  }

  find(owner: string, id: string): LiveResponse | undefined {
    const live = this.#live.get(id)
    return live?.run.owner === owner ? live : undefined
  }

  /** Stores the response as queued and lets it run. Rejects when it cannot be stored. */
  async start(run: ResponseRun, observe: (event: GenerationEvent) => void): Promise<LiveResponse> {
    const log = new EventLog()
    const emit = (events: readonly ResponseEvent[]) => {
      log.add(events)
      return undefined
    }
    await run.queue(emit)
    const listener = { observe, emit }
    this.#active.begin()
    const ended = run
      .run(listener)
      .catch((error: unknown) => run.fail(error, listener))
      .finally(() => {
        this.#live.delete(run.id)
        log.close()
        run.close()
        this.#active.end()
      })
    const live = { run, log, ended }
    this.#live.set(run.id, live)
    this.#timer ??= setInterval(() => void this.#renew(), renewEveryMs).unref()
    return live
  }

  /** Whether all of them end within the time. */
  idleWithin(timeoutMs: number): Promise<boolean> {
    return this.#active.idleWithin(timeoutMs)
  }

  async #renew(): Promise<void> {
    const { store, cancellations, onFailure, wallClock } = this.#deps
    const ids = [...this.#live.keys()]
    if (ids.length === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    try {
      const cancelled = await store?.responses.renew(ids, wallClock() + leaseMs)
      for (const id of cancelled ?? []) cancellations.cancelWhere({ id }, 'requested', this.#live.get(id)?.run.owner)
    } catch (error) {
      onFailure(error, 'the leases of background responses could not be renewed')
    }
  }
}

/** The events of a response that runs on its own, for any number of readers. Their numbers are their positions. */
class EventLog {
  readonly #log = new FollowedLog<ResponseEvent>()

  add(events: readonly ResponseEvent[]): void {
    for (const event of events) this.#log.add(event)
  }

  /** No event follows. */
  close(): void {
    this.#log.close()
  }

  /** Emits the events with a higher number, including future ones. Resolves after the last one, or when the signal is aborted. */
  follow(after: number, emit: Emit<ResponseEvent>, signal: AbortSignal): Promise<void> {
    return this.#log.follow(after + 1, emit, signal)
  }
}
