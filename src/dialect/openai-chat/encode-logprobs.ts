import type { GeneratedToken } from '../../contract/event.ts'
import { toWireLogprob } from '../openai/wire-logprob.ts'

type Scored = Pick<GeneratedToken, 'text' | 'bytes' | 'logprob'>

/** Tokens as OpenAI's chat protocol tells them; `refusal` is for a model that refuses in a field of its own. */
export function encodeLogprobs(tokens: readonly GeneratedToken[]) {
  return { content: tokens.map((token) => ({ ...encodeToken(token), top_logprobs: token.top.map(encodeToken) })), refusal: null }
}

function encodeToken({ text, bytes, logprob }: Scored) {
  return { token: text, logprob: toWireLogprob(logprob), bytes }
}
