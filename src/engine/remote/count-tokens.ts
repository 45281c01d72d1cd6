import { hasMedia } from '../../canonical/parts.ts'
import { AppError } from '../../contract/errors.ts'
import type { Usage } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { estimateTokens } from './estimate-tokens.ts'
import type { Profile } from './servers/profile.ts'
import type { Upstream, UpstreamAccess } from './servers/upstream.ts'
import { UpstreamError } from './transport/upstream-error.ts'
import { sendFolded } from './wire/send-folded.ts'
import { countRemotely } from './wire/tokenizer.ts'

/**
 * Whether the prompt has to be counted before the request is sent: because it may be too long for a replica, or because the caller gets the
 * count first and a replica that could count reports it only at the end.
 */
export function needsCount(request: GenerationRequest, upstreams: readonly Upstream[]): boolean {
  if (!fitsSurely(request, upstreams)) return true
  return (
    request.tellsInputFirst === true && upstreams.some(({ profile }) => profile.tokenizer !== undefined && tellsLate(profile))
  )
}

/** llama-server reports the count together with its timings. */
function tellsLate({ protocol, runningUsage, extras }: Profile): boolean {
  return protocol !== 'messages' && !runningUsage && !('timings_per_token' in extras)
}

/**
 * Whether a request certainly fits every upstream. A token is at least one byte, so short requests need no count, which would cost a round
 * trip. Media are counted if a server can: an image is anything from 16 to 4,096 tokens. Another Dragoman counts them itself, before they
 * take a slot.
 */
function fitsSurely(request: GenerationRequest, upstreams: readonly Upstream[]): boolean {
  const { prompt, maxOutputTokens = 1 } = request
  const isCounted = ({ profile }: Upstream) => profile.countsMedia === true && profile.name !== 'dragoman'
  if (upstreams.some(isCounted) && hasMedia(prompt)) return false
  const mostTokens = estimateTokens({ prompt, maxOutputTokens })
  return upstreams.every(({ contextLength }) => contextLength === undefined || mostTokens <= contextLength)
}

type Ask = <T>(call: (access: UpstreamAccess) => Promise<T>) => Promise<T>

/** The tokens of a request's prompt, counted by one of its upstreams. Undefined if no upstream can. */
export async function countInput(
  { prompt, reasoning, toolChoice }: GenerationRequest,
  ask: Ask,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (prompt.type === 'infill') return undefined
  if (prompt.type === 'tokens') return prompt.tokens.length
  const conversation = { prompt, reasoning, toolChoice, addBos: true, parseSpecial: true }
  try {
    return await ask((access) => sendFolded(conversation, access.upstream, (folded) => countRemotely(folded, access)))
  } catch (error) {
    signal.throwIfAborted()
    // The media cannot be decoded.
    if (error instanceof AppError && error.code === 'invalid-request') throw error
    // Without a count, the server itself refuses a prompt that is too long.
    if (error instanceof AppError || error instanceof UpstreamError) return undefined
    throw error
  }
}

/**
 * The usage of a reply whose server reported none. The prompt is counted with the server's tokenizer (0 without one), the output by its
 * pieces.
 */
export async function countUsage(access: UpstreamAccess, request: GenerationRequest, outputTokens: number): Promise<Usage> {
  const inputTokens = (await countInput(request, (call) => call(access), access.signal)) ?? 0
  return { inputTokens, cachedInputTokens: 0, outputTokens, reasoningTokens: 0 }
}
