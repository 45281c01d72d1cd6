import type { GeneratedToken, PromptToken } from '../../contract/event.ts'
import { toWireLogprob } from '../openai/wire-logprob.ts'

/** Tokens as OpenAI's completion protocol tells them: one list for each of their properties. */
export type WireLogprobs = {
  readonly tokens: string[]
  /** Null for the first token of a prompt, which nothing precedes. */
  readonly token_logprobs: (number | null)[]
  readonly top_logprobs: (Record<string, number> | null)[]
  /** Where each token begins in the text of its choice, in characters as Python counts them. */
  readonly text_offset: number[]
}

/** Tells the tokens of one choice. It counts where they begin, so it is told every token of the choice, once, in order. */
export class LogprobsEncoder {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #offset: number

  /** `startOffset` is the length of the text that comes before the first token. */
  constructor(startOffset: number) {
    this.#offset = startOffset
  }

  encode(tokens: readonly (GeneratedToken | PromptToken)[]): WireLogprobs {
    const told: WireLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] }
    for (const token of tokens) {
      told.tokens.push(nameOf(token))
      const { logprob } = token
      told.token_logprobs.push(logprob === undefined ? null : toWireLogprob(logprob))
      told.top_logprobs.push(logprob === undefined ? null : encodeTop({ ...token, logprob }))
      told.text_offset.push(this.#offset)
      this.#offset += countCharacters(this.#decoder.decode(Uint8Array.from(token.bytes), { stream: true }))
    }
    return told
  }
}

export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** The token itself is always among them, so there may be one more than was asked for. */
function encodeTop(token: Pick<GeneratedToken, 'bytes' | 'logprob' | 'top'>): Record<string, number> {
  const told: Record<string, number> = Object.create(null)
  for (const candidate of [...token.top, token]) told[nameOf(candidate)] ??= toWireLogprob(candidate.logprob)
  return told
}

/** A token that is part of a character has no text of its own: OpenAI writes its bytes. */
function nameOf({ bytes }: Pick<GeneratedToken, 'bytes'>): string {
  const text = Buffer.from(bytes).toString('utf8')
  if (!text.includes('\ufffd') || Buffer.from(text).equals(Buffer.from(bytes))) return text
  return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`
}
