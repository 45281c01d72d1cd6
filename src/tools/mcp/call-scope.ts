import { AsyncLocalStorage } from 'node:async_hooks'

/** A reply exceeded its limit of bytes. */
export class TooMuch extends Error {}

/** How many bytes have been read, and the limit. */
export type Budget = { bytes: number; readonly maxBytes: number }

/** The limit of the replies to one call, resumed ones included, and to any other request. */
export const maxReplyBytes = 8 * 1024 * 1024
const readingMs = 50

/** The requests of one call: they end with it. A call ends early when its answer can no longer come. */
export class CallScope {
  readonly budget: Budget = { bytes: 0, maxBytes: maxReplyBytes }
  /** How many of the call's requests have been answered. */
  answers = 0
  /** The id of the newest event: the reply can be resumed after it. */
  lastEventId: string | undefined
  readonly #stop = new AbortController()
  readonly #lost = new AbortController()

  /** The call is over. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /** Aborted when the answer will not come, with the reason. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** The reply to a request has ended; `answers`: the count when the request was sent. */
  onReplyEnd(answers: number, error: Error | undefined): void {
    const decide = () => {
      if (this.answers > answers) return
      const canResume = this.lastEventId !== undefined && !(error instanceof TooMuch)
      if (!canResume) this.lose(error ?? new Error('it ended its reply without an answer'))
    }
    // By then, an answer that was received has been read.
    setTimeout(decide, readingMs)
  }

  lose(why: Error): void {
    // The notice to the server is sent outside the call, whose requests end.
    callScope.exit(() => this.#lost.abort(why))
  }

  stop(): void {
    this.#stop.abort()
  }
}

export const callScope = new AsyncLocalStorage<CallScope>()

const maxAttempts = 5
const minDelayMs = 100
/** The longest delay that a timer supports. */
export const longestDelayMs = 2 ** 31 - 1

/**
 * Resumes a stream that the server closed for that, after the delay that it asked for, within bounds. A call whose reply cannot be resumed
 * after several attempts is lost.
 */
export function scheduleResumption(resume: () => void, delayMs: number, attempts: number): () => void {
  const call = callScope.getStore()
  if (attempts >= maxAttempts) call?.lose(new Error('it ended its reply, and could not be asked for the rest'))
  const timer = attempts < maxAttempts ? setTimeout(resume, Math.min(Math.max(delayMs, minDelayMs), longestDelayMs)) : undefined
  const cancel = () => clearTimeout(timer)
  // The stream of a session must not keep the process alive.
  if (call === undefined) timer?.unref()
  else call.stopped.addEventListener('abort', cancel, { once: true })
  return cancel
}
