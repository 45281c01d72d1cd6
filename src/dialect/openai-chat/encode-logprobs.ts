import type { GeneratedToken } from '../../contract/event.ts'
import { toWireLogprob } from '../openai/logprobs/wire-logprob.ts'

type ScoredToken = Pick<GeneratedToken, 'id' | 'text' | 'bytes' | 'logprob'>

/** Tokens in the form of OpenAI's chat protocol, with tabbyAPI's `token_id`; `refusal` is for models that refuse in a separate field. */
export function encodeLogprobs(tokens: readonly GeneratedToken[]) {
  return { content: tokens.map((token) => ({ ...encodeToken(token), top_logprobs: token.top.map(encodeToken) })), refusal: null }
}

function encodeToken({ id, text, bytes, logprob }: ScoredToken) {
  return { token: text, ...(id >= 0 && { token_id: id }), logprob: toWireLogprob(logprob), bytes }
}
