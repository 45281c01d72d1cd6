import { setMaxListeners } from 'node:events'

export type LinkedSignal = { readonly signal: AbortSignal; abort(reason: unknown): void; unlink(): void }

/** A signal that fires with another one, or by itself. Call `unlink` when it is no longer needed. */
export function linkedSignal(parent: AbortSignal): LinkedSignal {
  // Not `AbortSignal.any`: some versions of Node keep its results for as long as the source signal lives.
  const controller = new AbortController()
  // Every choice may have its own exchange.
  setMaxListeners(0, controller.signal)
  const forward = () => controller.abort(parent.reason)
  parent.addEventListener('abort', forward, { once: true })
  if (parent.aborted) forward()
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent.removeEventListener('abort', forward),
  }
}
