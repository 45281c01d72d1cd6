export type LinkedSignal = { readonly signal: AbortSignal; abort(reason: unknown): void; unlink(): void }

/** A signal that fires with another one, if there is one, or by itself. Call `unlink` when it is no longer needed. */
export function linkedSignal(parent: AbortSignal | undefined): LinkedSignal {
  // Not `AbortSignal.any`: it does not follow a `RunSignal`, and some versions of Node keep its results for as long as the source lives.
  const controller = new AbortController()
  const forward = () => controller.abort(parent?.reason)
  parent?.addEventListener('abort', forward, { once: true })
  if (parent?.aborted === true) forward()
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent?.removeEventListener('abort', forward),
  }
}
