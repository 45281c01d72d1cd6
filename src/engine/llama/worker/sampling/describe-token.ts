import type { GeneratedToken } from '../../../../contract/event.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { TokenScore } from './scores.ts'
import type { Vocabulary } from './vocabulary.ts'

type Shown = Pick<GeneratedToken, 'id' | 'text' | 'bytes'>

/** A token as it is reported, with the bytes that it adds to the text. */
export function showToken(vocabulary: Vocabulary, id: Token): Shown {
  return showBytes(id, vocabulary.bytesOf(id))
}

/** The bytes are exact; the text of half a character cannot be. */
export function showBytes(id: Token, bytes: Uint8Array): Shown {
  return { id, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), bytes: [...bytes] }
}

/** The top log-probabilities of a score. */
export function showTop(vocabulary: Vocabulary, score: TokenScore | undefined): GeneratedToken['top'] {
  return (score?.top ?? []).map(([id, logprob]) => ({ ...showToken(vocabulary, id), logprob }))
}
