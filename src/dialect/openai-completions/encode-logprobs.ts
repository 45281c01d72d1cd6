import type { GeneratedToken, PromptToken } from '../../contract/event.ts'
import { toWireLogprob } from '../openai/logprobs/wire-logprob.ts'
import type { CompletionLogprobs } from './replies.ts'

/** Encodes the tokens of one choice. It counts offsets, so it must get every token of the choice once, in order. */
export class LogprobsEncoder {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #offset: number

  /** `startOffset` is the length of the text before the first token. */
  constructor(startOffset: number) {
    this.#offset = startOffset
  }

  /** Another one that continues from here. `tail` are the last bytes, which may begin a character. */
  forkAfter(tail: readonly number[]): LogprobsEncoder {
    const fork = new LogprobsEncoder(this.#offset)
    fork.#decoder.decode(Uint8Array.from(tail), { stream: true })
    return fork
  }

  encode(tokens: readonly (GeneratedToken | PromptToken)[]): CompletionLogprobs {
    const encoded: { [Key in keyof CompletionLogprobs]: CompletionLogprobs[Key][number][] } = {
      tokens: [],
      token_logprobs: [],
      top_logprobs: [],
      text_offset: [],
    }
    for (const token of tokens) {
      encoded.tokens.push(labelOf(token))
      const { logprob } = token
      encoded.token_logprobs.push(logprob === undefined ? null : toWireLogprob(logprob))
      encoded.top_logprobs.push(logprob === undefined ? null : encodeTop({ ...token, logprob }))
      encoded.text_offset.push(this.#offset)
      this.#offset += countCharacters(this.#decoder.decode(Uint8Array.from(token.bytes), { stream: true }))
    }
    return encoded
  }
}

/** The longest beginning of a character in UTF-8. */
const maxPendingBytes = 3

/** The tokens of a prompt, encoded once for all choices that follow it. */
export class ScoredPrompt {
  readonly #encoded: CompletionLogprobs
  readonly #encoder: LogprobsEncoder
  readonly #tail: readonly number[]

  /** `startOffset` is the length of the text before the first token. */
  constructor(startOffset: number, tokens: readonly PromptToken[]) {
    this.#encoder = new LogprobsEncoder(startOffset)
    this.#encoded = this.#encoder.encode(tokens)
    this.#tail = tokens.flatMap(({ bytes }) => bytes).slice(-maxPendingBytes)
  }

  /** The prompt and the tokens of one choice. */
  followedBy(tokens: readonly GeneratedToken[]): CompletionLogprobs {
    const more = this.#encoder.forkAfter(this.#tail).encode(tokens)
    const { tokens: labels, token_logprobs, top_logprobs, text_offset } = this.#encoded
    return {
      tokens: [...labels, ...more.tokens],
      token_logprobs: [...token_logprobs, ...more.token_logprobs],
      top_logprobs: [...top_logprobs, ...more.top_logprobs],
      text_offset: [...text_offset, ...more.text_offset],
    }
  }
}

export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** Always contains the token itself, so there may be one entry more than requested. */
function encodeTop(token: Pick<GeneratedToken, 'bytes' | 'logprob' | 'top'>): Record<string, number> {
  const top: Record<string, number> = Object.create(null)
  for (const candidate of [...token.top, token]) top[labelOf(candidate)] ??= toWireLogprob(candidate.logprob)
  return top
}

/** The token's text; for an incomplete character its bytes, as in OpenAI's replies. */
function labelOf({ bytes }: Pick<GeneratedToken, 'bytes'>): string {
  const text = Buffer.from(bytes).toString('utf8')
  if (!text.includes('\ufffd') || Buffer.from(text).equals(Buffer.from(bytes))) return text
  return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`
}
