import { AppError } from '../../contract/errors.ts'
import type { WireRequest } from './schema.ts'

/** OpenAI's pair of fields; tabbyAPI's number above 1 says how many likeliest tokens as well. */
export function decodeLogprobs({ logprobs, top_logprobs }: WireRequest): { readonly top: number } | undefined {
  if (typeof logprobs === 'number' && logprobs > 0) return { top: top_logprobs ?? (logprobs > 1 ? logprobs : 0) }
  if (logprobs === true) return { top: top_logprobs ?? 0 }
  if (typeof top_logprobs === 'number' && top_logprobs > 0) {
    throw new AppError('invalid-request', `top_logprobs ${top_logprobs} needs logprobs true: send both`, {
      param: 'top_logprobs',
    })
  }
  return undefined
}
