import type { GeneratedToken } from '../../../../contract/event.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { Vocabulary } from './vocabulary.ts'

/** A token's log-probability, and the top log-probabilities at its position, the highest first. */
export type TokenScore = { readonly logprob: number; readonly top: readonly (readonly [Token, number])[] }

/** JSON has no infinity; OpenAI writes this number. */
const leastLogprob = -9999

/** Log-probabilities of the model's own distribution: before penalties, bias, temperature, filters and grammar. */
export function scoreToken(logits: Float32Array, token: Token, top: number): TokenScore {
  const norm = logOfSum(logits)
  const logprobOf = (id: number) => Math.min(0, Math.max(leastLogprob, (logits[id] as number) - norm))
  return { logprob: logprobOf(token), top: highest(logits, top).map((id) => [id, logprobOf(id)]) }
}

export function mostProbable(logits: Float32Array): { readonly token: Token; readonly probability: number } {
  const token = likeliest(logits)
  return { token, probability: Math.exp((logits[token] as number) - logOfSum(logits)) }
}

export function likeliest(logits: Float32Array): Token {
  const [token] = highest(logits, 1)
  if (token === undefined) throw new Error('the model has no tokens')
  return token
}

export function logOfSum(logits: Float32Array): number {
  let most = Number.NEGATIVE_INFINITY
  for (const logit of logits) if (logit > most) most = logit
  let sum = 0
  for (const logit of logits) sum += Math.exp(logit - most)
  return most + Math.log(sum)
}

/** The tokens with the highest logits, in order; the first of equals. */
function highest(logits: Float32Array, count: number): Token[] {
  const found: Token[] = []
  let least = Number.NEGATIVE_INFINITY
  for (let id = 0; id < logits.length && count > 0; id++) {
    const logit = logits[id] as number
    if (found.length >= count && !(logit > least)) continue
    let at = found.length
    while (at > 0 && (logits[found[at - 1] as number] as number) < logit) at--
    found.splice(at, 0, id as Token)
    if (found.length > count) found.pop()
    least = logits[found[found.length - 1] as number] as number
  }
  return found
}

type Shown = Pick<GeneratedToken, 'id' | 'text' | 'bytes'>

/** A token as it is reported, with the bytes that it adds to the text. */
export function showToken(vocabulary: Vocabulary, id: Token): Shown {
  return showBytes(id, vocabulary.bytesOf(id))
}

/** The bytes are exact; the text of half a character cannot be. */
export function showBytes(id: Token, bytes: Uint8Array): Shown {
  return { id, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), bytes: [...bytes] }
}

export function showTop(vocabulary: Vocabulary, score: TokenScore | undefined): GeneratedToken['top'] {
  return (score?.top ?? []).map(([id, logprob]) => ({ ...showToken(vocabulary, id), logprob }))
}
