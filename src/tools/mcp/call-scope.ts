import { AsyncLocalStorage } from 'node:async_hooks'

/** More bytes came than are read. */
export class TooMuch extends Error {}

/** How much has been read, of how much. */
export type Budget = { bytes: number; readonly maxBytes: number }

/** Of the replies to one call, resumed ones included, or to another request. */
export const maxReplyBytes = 8 * 1024 * 1024
const readingMs = 50

/** A call whose requests are its own: they end with it, and it ends when its answer cannot come any more. */
export class CallScope {
  readonly budget: Budget = { bytes: 0, maxBytes: maxReplyBytes }
  /** How many of its requests have been answered. */
  answers = 0
  /** Of the newest event: the reply can be resumed after it. */
  lastEventId: string | undefined
  readonly #stop = new AbortController()
  readonly #lost = new AbortController()

  /** The call is over. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /** Its answer will not come, for the reason of the signal. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** The reply to a request has ended that was sent when `answers` were there. */
  onReplyEnd(answers: number, error: Error | undefined): void {
    const decide = () => {
      if (this.answers > answers) return
      const canResume = this.lastEventId !== undefined && !(error instanceof TooMuch)
      if (!canResume) this.lose(error ?? new Error('it ended its reply without an answer'))
    }
    // The answer, if there was one, is read by then.
    setTimeout(decide, readingMs)
  }

  lose(why: Error): void {
    // The server is told so outside of the call, whose requests end.
    callScope.exit(() => this.#lost.abort(why))
  }

  stop(): void {
    this.#stop.abort()
  }
}

export const callScope = new AsyncLocalStorage<CallScope>()

const maxAttempts = 5
const minDelayMs = 100
/** The most that a timer waits. */
export const longestDelayMs = 2 ** 31 - 1

/**
 * Resumes a stream that the server has closed to be resumed, when the server wants it, though not at once. A call whose reply cannot be
 * resumed for a while is lost.
 */
export function scheduleResumption(resume: () => void, delayMs: number, attempts: number): () => void {
  const call = callScope.getStore()
  if (attempts >= maxAttempts) call?.lose(new Error('it ended its reply, and could not be asked for the rest'))
  const timer = attempts < maxAttempts ? setTimeout(resume, Math.min(Math.max(delayMs, minDelayMs), longestDelayMs)) : undefined
  const cancel = () => clearTimeout(timer)
  // The stream of a session is nothing to stay for.
  if (call === undefined) timer?.unref()
  else call.stopped.addEventListener('abort', cancel, { once: true })
  return cancel
}
