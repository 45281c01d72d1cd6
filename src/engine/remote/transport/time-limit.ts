import { linkedSignal } from '../../linked-signal.ts'

type Limit = { readonly timeoutMs: number; tooLate(): Error }

/** Does work that heeds a signal: it fires when the caller's does, and when the time is over. */
export async function withTimeLimit<T>(
  signal: AbortSignal,
  { timeoutMs, tooLate }: Limit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = linkedSignal(signal)
  const timer = setTimeout(() => over.abort(tooLate()), timeoutMs)
  try {
    return await work(over.signal)
  } finally {
    clearTimeout(timer)
    over.unlink()
  }
}

/** The result of work that others wait for too, or the signal's reason: the work goes on. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
