import type { GeneratedToken } from '../../contract/event.ts'
import { toWireLogprob } from '../openai/wire-logprob.ts'

type ScoredToken = Pick<GeneratedToken, 'text' | 'bytes' | 'logprob'>

/** Tokens in the form of OpenAI's chat protocol; `refusal` is for models that refuse in a separate field. */
export function encodeLogprobs(tokens: readonly GeneratedToken[]) {
  return { content: tokens.map((token) => ({ ...encodeToken(token), top_logprobs: token.top.map(encodeToken) })), refusal: null }
}

function encodeToken({ text, bytes, logprob }: ScoredToken) {
  return { token: text, logprob: toWireLogprob(logprob), bytes }
}
