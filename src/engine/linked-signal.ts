import { setMaxListeners } from 'node:events'

export type LinkedSignal = { readonly signal: AbortSignal; abort(reason: unknown): void; unlink(): void }

/** A signal that fires with another one, or by itself. Call `unlink` when nobody listens to it any more. */
export function linkedSignal(parent: AbortSignal): LinkedSignal {
  // Not `AbortSignal.any`: what it makes of a signal that lives for long is kept by some versions of Node.
  const controller = new AbortController()
  // Every choice may have an exchange of its own.
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
