import type { Model } from '../../binding/model.ts'
import type { Token } from '../../binding/tokenizer.ts'

export type VocabularyModel = Pick<
  Model,
  'fileInfo' | 'vocabularyType' | 'iterateAllTokens' | 'isEogToken' | 'getTokenAttributes' | 'detokenize' | 'tokens'
>

/** A token and what it adds to the output. */
export type TokenBytes = { readonly token: Token; readonly bytes: Uint8Array }

/** Facts about a model's tokens that the tokenizer does not provide. */
export type Vocabulary = {
  readonly size: number
  readonly endTokens: readonly Token[]
  readonly endTexts: readonly string[]
  /** Texts that the tokenizer reads as control tokens when it parses special tokens. */
  readonly controlTexts: readonly string[]
  /** Tokens that neither end the turn nor add text to the output. */
  readonly hiddenTokens: readonly Token[]
  /** Control tokens that add their text to the output. */
  readonly visibleTokens: readonly TokenBytes[]
  /** The bytes that a token adds to the output, in UTF-8; none for hidden tokens. */
  bytesOf(token: Token): Uint8Array
  /** As `bytesOf`, with the texts of special tokens. */
  shownBytesOf(token: Token): Uint8Array
}

/**
 * Scans the vocabulary once. Token bytes are computed on demand and cached. Control tokens with a text in `visible` (tags
 * of calls and reasoning, which are parsed from the text) add it to the output.
 */
export function readVocabulary(model: VocabularyModel, visible: ReadonlySet<string> = new Set()): Vocabulary {
  const pieces: readonly unknown[] = model.fileInfo.metadata.tokenizer.ggml.tokens ?? []
  const endTokens: Token[] = []
  const hiddenTokens: Token[] = []
  const controlTexts: string[] = []
  const visibleTokens = new Set<Token>()
  for (const token of model.iterateAllTokens()) {
    const ends = model.isEogToken(token)
    if (ends) endTokens.push(token)
    const { control, unknown } = model.getTokenAttributes(token)
    if (!control && !unknown) continue
    const text = model.detokenize([token], true)
    controlTexts.push(text)
    if (ends) continue
    if (visible.has(text)) visibleTokens.add(token)
    else hiddenTokens.push(token)
  }
  const known = new Map<Token, Uint8Array>()
  const hidden = new Set(hiddenTokens)
  const bytesOf = (token: Token): Uint8Array => {
    const found = known.get(token)
    if (found !== undefined) return found
    const bytes = visibleTokens.has(token)
      ? Buffer.from(model.detokenize([token], true))
      : tokenBytes(model, token, pieces[token])
    known.set(token, bytes)
    return bytes
  }
  return {
    size: pieces.length,
    endTokens,
    endTexts: endTokens.map((token) => model.detokenize([token], true)),
    hiddenTokens,
    visibleTokens: Array.from(visibleTokens, (token) => ({ token, bytes: Buffer.from(model.detokenize([token], true)) })),
    controlTexts: controlTexts.filter((text) => text !== ''),
    bytesOf,
    shownBytesOf: (token) => (hidden.has(token) ? Buffer.from(model.detokenize([token], true)) : bytesOf(token)),
  }
}

/** The bytes that a token adds to the output; none for control tokens. */
export function tokenBytes(model: VocabularyModel, token: Token, piece: unknown): Uint8Array {
  const attributes = model.getTokenAttributes(token)
  if (attributes.control || attributes.unknown || typeof piece !== 'string') return new Uint8Array()
  if (attributes.userDefined) return Buffer.from(piece)
  if (attributes.byte) return Uint8Array.of(Number.parseInt(piece.slice(3, 5), 16))
  switch (model.vocabularyType) {
    case 'bpe':
      // Gemma 4's BPE writes its pieces as SentencePiece does.
      return model.fileInfo.metadata.tokenizer.ggml.model === 'gemma4' ? spacedBytes(piece) : byteLevelBytes(piece)
    case 'spm':
    case 'ugm':
      return spacedBytes(piece)
    default:
      // WordPiece and others have no relevant generative models; the tokenizer's own text is exact for complete words.
      return Buffer.from(model.detokenize([token]))
  }
}

/** SentencePiece writes spaces as U+2581. */
function spacedBytes(piece: string): Uint8Array {
  return Buffer.from(piece.replaceAll('\u2581', ' '))
}

/** GPT-2's printable spelling of bytes (`bytes_to_unicode` in its encoder.py), reversed. */
const byteOfLetter = new Map<string, number>()
for (let byte = 0, shifted = 0; byte < 256; byte++) {
  const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255)
  byteOfLetter.set(String.fromCharCode(printable ? byte : 256 + shifted++), byte)
}

/** A piece with letters outside that table was added as plain text. */
function byteLevelBytes(piece: string): Uint8Array {
  const bytes = Array.from(piece, (letter) => byteOfLetter.get(letter))
  return bytes.includes(undefined) ? Buffer.from(piece) : Uint8Array.from(bytes as number[])
}
