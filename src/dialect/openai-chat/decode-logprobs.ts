import { AppError } from '../../contract/errors.ts'
import type { ChatWire } from './schema.ts'

/** OpenAI's pair of fields, or tabbyAPI's number, which above 1 is the number of top log-probabilities. */
export function decodeLogprobs({ logprobs, top_logprobs }: ChatWire): { readonly top: number } | undefined {
  if (typeof logprobs === 'number' && logprobs > 0) return { top: top_logprobs ?? (logprobs > 1 ? logprobs : 0) }
  if (logprobs === true) return { top: top_logprobs ?? 0 }
  if (typeof top_logprobs === 'number' && top_logprobs > 0) {
    throw new AppError('invalid-request', `top_logprobs ${top_logprobs} requires logprobs true: send both`, {
      param: 'top_logprobs',
    })
  }
  return undefined
}
