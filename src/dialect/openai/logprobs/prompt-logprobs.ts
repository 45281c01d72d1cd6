import { AppError } from '../../../contract/errors.ts'
import type { PromptToken } from '../../../contract/event.ts'
import { toWireLogprob } from './wire-logprob.ts'

type PromptLogprob = { readonly logprob: number; readonly rank: number | null; readonly decoded_token: string }

/** As in vLLM: a stream has no place for them. */
export function refusePromptLogprobsInStream({ stream }: { readonly stream?: boolean | null | undefined }): void {
  if (stream !== true) return
  throw new AppError('invalid-request', 'prompt_logprobs is not available in a stream: send stream false', {
    param: 'prompt_logprobs',
  })
}

/**
 * vLLM's `prompt_logprobs`: each token but the first, with the most probable ones at its position, by their ids, or by their texts if a
 * server does not report ids. A token that is not among these has no rank.
 */
export function encodePromptLogprobs(tokens: readonly PromptToken[]): (Readonly<Record<string, PromptLogprob>> | null)[] {
  return tokens.map(({ logprob, top, ...token }) => {
    if (logprob === undefined) return null
    const entries = top.map((one, index) => [keyOf(one), encode({ ...one, rank: index + 1 })] as const)
    return { [keyOf(token)]: encode({ ...token, logprob, rank: null }), ...Object.fromEntries(entries) }
  })
}

function encode({ logprob, rank, text }: { logprob: number; rank: number | null; text: string }): PromptLogprob {
  return { logprob: toWireLogprob(logprob), rank, decoded_token: text }
}

function keyOf({ id, text }: { readonly id: number; readonly text: string }): string {
  return id >= 0 ? String(id) : text
}
