import { isDeepStrictEqual } from 'node:util'
import type { ChatPrompt, Prompt } from '../../../contract/request.ts'
import { foldings } from '../../../model-text/template/fold-prompt.ts'
import type { Upstream } from '../servers/upstream.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** How far each server's conversations are folded, learned from its refusals. A server that changes gets a new upstream object. */
const learned = new WeakMap<Upstream, number>()

/**
 * Sends a request, and again in each folded form that differs, until the server accepts it: few servers report what their templates render.
 * `send` resolves once the server has accepted the request, and the form is remembered. Rejects with the first refusal.
 */
export function sendFolded<R extends { readonly prompt: Prompt }, T>(
  request: R,
  upstream: Upstream,
  send: (request: R) => Promise<T>,
): Promise<T> {
  const { prompt } = request
  // Another Dragoman does this itself.
  if (prompt.type !== 'chat' || upstream.profile.name === 'dragoman') return send(request)
  const known = learned.get(upstream) ?? 0
  const first = foldedBy(prompt, known)
  const sendAs = (form: Prompt) => send(form === prompt ? request : { ...request, prompt: form })
  return sendAs(first).catch((refusal: unknown) => sendOtherwise(prompt, { upstream, known, first, refusal, sendAs }))
}

type Refused<T> = {
  readonly upstream: Upstream
  /** The step of the form that was sent first. */
  readonly known: number
  readonly first: Prompt
  readonly refusal: unknown
  sendAs(form: Prompt): Promise<T>
}

async function sendOtherwise<T>(prompt: ChatPrompt, { upstream, known, first, refusal, sendAs }: Refused<T>): Promise<T> {
  if (!mayBeTemplate(refusal)) throw refusal
  const sent = [first]
  for (let step = 0; step <= foldings.length; step++) {
    const folded = foldedBy(prompt, step)
    if (sent.some((form) => isDeepStrictEqual(form, folded))) continue
    sent.push(folded)
    try {
      const result = await sendAs(folded)
      if (step > known) learned.set(upstream, step)
      return result
    } catch (error) {
      if (!mayBeTemplate(error)) throw error
    }
  }
  throw refusal
}

/** Step 0 is the prompt itself. */
function foldedBy(prompt: ChatPrompt, step: number): ChatPrompt {
  return foldings[step - 1]?.(prompt) ?? prompt
}

/** Templates refuse in their own words, which name no field and no limit. */
function mayBeTemplate(error: unknown): boolean {
  if (!(error instanceof UpstreamError) || error.failure.type !== 'status') return false
  const { status, overflow, mostOutputTokens, isTooLong, param } = error.failure
  const isLimit = overflow !== undefined || mostOutputTokens !== undefined || isTooLong === true
  return (status === 400 || status === 422) && !isLimit && param === undefined
}
