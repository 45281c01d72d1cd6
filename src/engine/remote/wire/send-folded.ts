import { isDeepStrictEqual } from 'node:util'
import type { Prompt } from '../../../contract/request.ts'
import { foldings } from '../../../model-text/template/fold-prompt.ts'
import type { Upstream } from '../servers/upstream.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** How far each server's conversations are folded, learned from its refusals. A server that changes gets a new upstream object. */
const learned = new WeakMap<Upstream, number>()

/**
 * Sends a request, and again in each folded form that differs, until the server accepts it: few servers report what their templates render.
 * `send` resolves once the server has accepted the request, and the form is remembered. Rejects with the first refusal.
 */
export async function sendFolded<R extends { readonly prompt: Prompt }, T>(
  request: R,
  upstream: Upstream,
  send: (request: R) => Promise<T>,
): Promise<T> {
  const { prompt } = request
  // Another Dragoman does this itself.
  if (prompt.type !== 'chat' || upstream.profile.name === 'dragoman') return send(request)
  const known = learned.get(upstream) ?? 0
  const steps = [known, ...Array.from({ length: foldings.length + 1 }, (_, step) => step).filter((step) => step !== known)]
  const sent: unknown[] = []
  let refusal: unknown
  for (const step of steps) {
    const folded = step === 0 ? prompt : (foldings[step - 1]?.(prompt) ?? prompt)
    if (sent.some((form) => isDeepStrictEqual(form, folded))) continue
    sent.push(folded)
    try {
      const result = await send(folded === prompt ? request : { ...request, prompt: folded })
      if (step > known) learned.set(upstream, step)
      return result
    } catch (error) {
      if (!mayBeTemplate(error)) throw error
      refusal ??= error
    }
  }
  throw refusal
}

/** Templates refuse in their own words, which name no field and no limit. */
function mayBeTemplate(error: unknown): boolean {
  if (!(error instanceof UpstreamError) || error.failure.type !== 'status') return false
  const { status, overflow, mostOutputTokens, isTooLong, param } = error.failure
  const isLimit = overflow !== undefined || mostOutputTokens !== undefined || isTooLong === true
  return (status === 400 || status === 422) && !isLimit && param === undefined
}
