import { afterAwake } from './time/awake.ts'

type Limit = { readonly timeoutMs: number; tooLate(): Error }

/** Runs work with a signal that fires with the caller's, or with `tooLate()` after `timeoutMs`. */
export async function withTimeLimit<T>(
  signal: AbortSignal,
  { timeoutMs, tooLate }: Limit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const cancel = afterAwake(timeoutMs, () => limit.abort(tooLate()))
  try {
    return await work(AbortSignal.any([signal, limit.signal]))
  } finally {
    cancel()
  }
}

/** The result of shared work, or the signal's reason if that comes first. The signal does not end the work. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
