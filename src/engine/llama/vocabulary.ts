import type { LlamaModel, Token } from 'node-llama-cpp'

/** What the worker knows about a model's tokens beyond the tokenizer itself. */
export type Vocabulary = {
  readonly size: number
  /** Tokens that end the model's turn. */
  readonly endTokens: readonly Token[]
  /** Texts that the tokenizer reads as control tokens when it is told to parse them. */
  readonly controlTexts: readonly string[]
  /** The bytes that a token adds to the output; none for control tokens. Joined, they are the text in UTF-8. */
  bytesOf(token: Token): Uint8Array
}

/** Scans the vocabulary once. Token bytes are found on demand and remembered. */
export function readVocabulary(model: LlamaModel): Vocabulary {
  const pieces: readonly unknown[] = model.fileInfo.metadata.tokenizer.ggml.tokens ?? []
  const endTokens: Token[] = []
  const controlTexts: string[] = []
  for (const token of model.iterateAllTokens()) {
    if (model.isEogToken(token)) endTokens.push(token)
    const { control, unknown } = model.getTokenAttributes(token)
    if (control || unknown) controlTexts.push(model.detokenize([token], true))
  }
  const known = new Map<Token, Uint8Array>()
  return {
    size: pieces.length,
    endTokens,
    controlTexts: controlTexts.filter((text) => text !== ''),
    bytesOf(token) {
      const found = known.get(token)
      if (found !== undefined) return found
      const bytes = tokenBytes(model, token, pieces[token])
      known.set(token, bytes)
      return bytes
    },
  }
}

function tokenBytes(model: LlamaModel, token: Token, piece: unknown): Uint8Array {
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
      // WordPiece and others have no generative models worth serving; the tokenizer's own text is exact for whole words.
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

/** A piece with letters outside that spelling was added as plain text. */
function byteLevelBytes(piece: string): Uint8Array {
  const bytes = Array.from(piece, (letter) => byteOfLetter.get(letter))
  return bytes.includes(undefined) ? Buffer.from(piece) : Uint8Array.from(bytes as number[])
}
