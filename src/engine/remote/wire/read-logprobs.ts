import type { GeneratedToken } from '../../../contract/event.ts'
import { asArray, asCount, asObject, asText } from '../transport/loose-json.ts'

type Told = Omit<GeneratedToken, 'top'>

/** Where a server does not tell the ids of tokens. */
const unknownId = -1

/** The tokens of a choice's `logprobs`, in the shape of chat or in that of completions; empty when there are none. */
export function readLogprobs(value: unknown): readonly GeneratedToken[] {
  const logprobs = asObject(value)
  if (logprobs === undefined) return []
  if (Array.isArray(logprobs.content)) return logprobs.content.flatMap(readChatToken)
  return readCompletionTokens(logprobs)
}

function readChatToken(value: unknown): GeneratedToken[] {
  const told = readToken(value)
  if (told === undefined) return []
  const top = asArray(asObject(value)?.top_logprobs).flatMap((other) => readToken(other) ?? [])
  return [{ ...told, top }]
}

function readToken(value: unknown): Told | undefined {
  const token = asObject(value)
  const text = asText(token?.token)
  const logprob = token?.logprob
  if (token === undefined || text === undefined || typeof logprob !== 'number') return undefined
  const bytes = asArray(token.bytes).filter((byte): byte is number => typeof byte === 'number')
  return { id: asCount(token.id) ?? unknownId, text, bytes: bytes.length > 0 ? bytes : [...Buffer.from(text)], logprob }
}

/** Lists side by side, and a map of the likeliest at each place. */
function readCompletionTokens(logprobs: { readonly [key: string]: unknown }): readonly GeneratedToken[] {
  const chances = asArray(logprobs.token_logprobs)
  const tops = asArray(logprobs.top_logprobs)
  return asArray(logprobs.tokens).flatMap((token, index) => {
    const text = asText(token)
    const logprob = chances[index]
    if (text === undefined || typeof logprob !== 'number') return []
    const top = Object.entries(asObject(tops[index]) ?? {}).flatMap(([other, chance]) => {
      return typeof chance === 'number' ? [toToken(other, chance)] : []
    })
    return [{ ...toToken(text, logprob), top: top.toSorted((a, b) => b.logprob - a.logprob) }]
  })
}

function toToken(text: string, logprob: number): Told {
  return { id: unknownId, text, bytes: [...Buffer.from(text)], logprob }
}
