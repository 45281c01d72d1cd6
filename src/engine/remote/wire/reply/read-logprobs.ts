import type { GeneratedToken } from '../../../../contract/event.ts'
import { asArray, asCount, asObject, asText } from '../../transport/loose-json.ts'

type WireToken = Omit<GeneratedToken, 'top'>

/** For servers that do not report token ids. */
export const unknownId = -1

type ChunkToken = { readonly text: string; readonly id?: number | undefined }

/**
 * The tokens of a choice's `logprobs`: in the format of chat, of completions, or the bare number of a chunk that is one token. Empty if
 * there are none.
 */
export function readLogprobs(value: unknown, chunk: ChunkToken): readonly GeneratedToken[] {
  if (typeof value === 'number' && chunk.text !== '') {
    return [{ ...toToken(chunk.text, value), id: chunk.id ?? unknownId, top: [] }]
  }
  const logprobs = asObject(value)
  if (logprobs === undefined) return []
  if (Array.isArray(logprobs.content)) return logprobs.content.flatMap(readChatToken)
  return readCompletionTokens(logprobs)
}

function readChatToken(value: unknown): GeneratedToken[] {
  const token = readToken(value)
  if (token === undefined) return []
  const top = asArray(asObject(value)?.top_logprobs).flatMap((other) => readToken(other) ?? [])
  return [{ ...token, top }]
}

function readToken(value: unknown): WireToken | undefined {
  const token = asObject(value)
  const text = asText(token?.token)
  const logprob = token?.logprob
  if (token === undefined || text === undefined || typeof logprob !== 'number') return undefined
  const bytes = asArray(token.bytes).filter((byte): byte is number => typeof byte === 'number')
  const id = asCount(token.id ?? token.token_id) ?? unknownId
  return { id, text, bytes: bytes.length > 0 ? bytes : [...Buffer.from(text)], logprob }
}

/** Parallel arrays, with a map of top log-probabilities for each token. */
function readCompletionTokens(logprobs: { readonly [key: string]: unknown }): readonly GeneratedToken[] {
  const tokenLogprobs = asArray(logprobs.token_logprobs)
  const tops = asArray(logprobs.top_logprobs)
  return asArray(logprobs.tokens).flatMap((token, index) => {
    const text = asText(token)
    const logprob = tokenLogprobs[index]
    if (text === undefined || typeof logprob !== 'number') return []
    return [{ ...toToken(text, logprob), top: readTops(tops[index]) }]
  })
}

/** A map of top log-probabilities, the highest first. */
export function readTops(value: unknown): readonly WireToken[] {
  const top = Object.entries(asObject(value) ?? {}).flatMap(([other, logprob]) => {
    return typeof logprob === 'number' ? [toToken(other, logprob)] : []
  })
  return top.toSorted((a, b) => b.logprob - a.logprob)
}

function toToken(shown: string, logprob: number): WireToken {
  return { id: unknownId, ...pieceOf(shown), logprob }
}

/** The text and bytes of a token that OpenAI's completions show, as `bytes:\xe2\x80` if it is a part of a character. */
export function pieceOf(shown: string): Pick<WireToken, 'text' | 'bytes'> {
  if (!/^bytes:(\\x[\da-f]{2})+$/i.test(shown)) return { text: shown, bytes: [...Buffer.from(shown)] }
  const bytes = Buffer.from(shown.slice('bytes:'.length).replaceAll('\\x', ''), 'hex')
  return { text: bytes.toString('utf8'), bytes: [...bytes] }
}
