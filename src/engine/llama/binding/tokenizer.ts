import type { Library, SpecialToken, Vocabulary } from './library.ts'

/** The id of a token of a model. */
export type Token = number & { readonly __token: never }

type SpecialTokens = Readonly<Record<'bos' | 'eos' | 'nl' | 'sep', Token | null>> & {
  readonly bosString: string | null
  readonly eosString: string | null
  readonly shouldPrependBosToken: boolean
  readonly shouldAppendEosToken: boolean
  readonly infill: Readonly<Record<'prefix' | 'suffix' | 'middle', Token | null>>
}

export type VocabularyType = (typeof vocabularyTypes)[number]

/** `enum llama_vocab_type` */
const vocabularyTypes = ['none', 'spm', 'bpe', 'wpm', 'ugm', 'rwkv', 'plamo2'] as const
/** From `enum llama_token_attr` */
const attributes = { unknown: 1, control: 8, userDefined: 16, byte: 32 }

/** The tokens of a model: texts to tokens, and back. */
export class Tokenizer {
  readonly #library: Library
  readonly #vocabulary: Vocabulary
  readonly vocabularyType: VocabularyType
  /** How many tokens the model has. */
  readonly size: number
  readonly tokens: SpecialTokens
  readonly #eot: Token | null
  /** Grows with the texts. */
  #buffer = Buffer.alloc(1 << 16)

  constructor(library: Library, vocabulary: Vocabulary) {
    this.#library = library
    this.#vocabulary = vocabulary
    this.vocabularyType = vocabularyTypes[library.vocabularyType(vocabulary)] ?? 'none'
    this.size = library.vocabularySize(vocabulary)
    this.#eot = this.#special('eot', 'known')
    this.tokens = this.#readSpecialTokens()
  }

  /**
   * `specialTokens`: the texts of control tokens become them. `trimLeadingSpace`: without the space that some tokenizers put in front of a
   * text.
   */
  tokenize(text: string, specialTokens = false, trim?: 'trimLeadingSpace'): Token[] {
    if (text === '') return []
    if (trim === undefined) return this.#tokenize(text, specialTokens)
    return (specialTokens ? this.#tokenizeAfterStart(text) : undefined) ?? this.#tokenizeAfterLine(text, specialTokens)
  }

  detokenize(tokens: readonly Token[], specialTokens = false): string {
    if (tokens.length === 0) return ''
    const ids = Int32Array.from(tokens)
    const read = () =>
      this.#library.detokenize(this.#vocabulary, ids, ids.length, this.#buffer, this.#buffer.length, false, specialTokens)
    return this.#buffer.toString('utf8', 0, this.#untilItFits(read, 1))
  }

  /** Whether the token ends the model's turn. */
  isEogToken(token: Token): boolean {
    return token === this.tokens.eos || token === this.#eot || this.#library.endsTurn(this.#vocabulary, token)
  }

  /** What llama.cpp knows of a token. */
  getTokenAttributes(token: Token): Readonly<Record<keyof typeof attributes, boolean>> {
    const found = this.#library.tokenAttributes(this.#vocabulary, token)
    const has = (bit: number) => (found & bit) === bit
    return {
      unknown: has(attributes.unknown),
      control: has(attributes.control),
      userDefined: has(attributes.userDefined),
      byte: has(attributes.byte),
    }
  }

  *iterateAllTokens(): Generator<Token> {
    if (this.vocabularyType === 'none') return
    for (let token = 0; token < this.size; token++) yield token as Token
  }

  /** The token as the model's file spells it. */
  textOf(token: number): string {
    return this.#library.tokenText(this.#vocabulary, token) ?? ''
  }

  #tokenize(text: string, specialTokens: boolean): Token[] {
    const bytes = Buffer.from(text)
    const read = () => {
      const { length } = this.#buffer
      return this.#library.tokenize(this.#vocabulary, bytes, bytes.length, this.#buffer, length >> 2, false, specialTokens)
    }
    const count = this.#untilItFits(read, Int32Array.BYTES_PER_ELEMENT)
    return Array.from(new Int32Array(this.#buffer.buffer, this.#buffer.byteOffset, count)) as Token[]
  }

  /** If the buffer is too small, llama.cpp returns the negative of the needed size. */
  #untilItFits(read: () => number, unit: number): number {
    for (;;) {
      const count = read()
      if (count >= 0) return count
      this.#buffer = Buffer.alloc(2 * unit * -count)
    }
  }

  /**
   * The tokens of a text after a control token, where no tokenizer inserts a space; undefined if the control token does not stay separate.
   */
  #tokenizeAfterStart(text: string): Token[] | undefined {
    const { bos, eos, nl } = this.tokens
    const start = bos ?? eos ?? nl
    if (start === null) return undefined
    const tokens = this.#tokenize(this.textOf(start) + text, true)
    const at = tokens.indexOf(start)
    if (at < 0 || at > 1) return undefined
    const rest = tokens.slice(at + 1)
    return leadingSpaces(this.detokenize(rest, true)) === leadingSpaces(text) ? rest : undefined
  }

  /** The tokens of a text after a line break; if the line break does not stay separate, those of the text alone. */
  #tokenizeAfterLine(text: string, specialTokens: boolean): Token[] {
    const alone = this.#tokenize(text, specialTokens)
    if (text.startsWith('\n') && (!specialTokens || this.detokenize(alone, true).startsWith('\n'))) return alone
    const line = this.#tokenize('\n', specialTokens)
    const tokens = this.#tokenize(`\n${text}`, specialTokens)
    if (line.length === 0 || !line.every((token, index) => tokens[index] === token)) return alone
    const rest = tokens.slice(line.length)
    return !specialTokens || leadingSpaces(this.detokenize(rest, true)) === leadingSpaces(text) ? rest : alone
  }

  #readSpecialTokens(): SpecialTokens {
    const [bos, eos] = [this.#special('bos', 'control'), this.#special('eos', 'control')]
    return {
      bos,
      eos,
      nl: this.#special('nl', 'known'),
      sep: this.#special('sep', 'known'),
      bosString: bos === null ? null : this.textOf(bos),
      eosString: eos === null ? null : this.textOf(eos),
      shouldPrependBosToken: bos !== null && this.#library.addsBos(this.#vocabulary),
      shouldAppendEosToken: bos !== null && this.#library.addsEos(this.#vocabulary),
      infill: {
        prefix: this.#special('fim_pre', 'known'),
        suffix: this.#special('fim_suf', 'known'),
        middle: this.#special('fim_mid', 'known'),
      },
    }
  }

  /** A file may name an ordinary token as its first or last one, or one that stands for unknown text. */
  #special(name: SpecialToken, kind: 'control' | 'known'): Token | null {
    const token = this.#library.specialToken(this.#vocabulary, name) as Token
    if (token < 0) return null
    const { control, unknown } = this.getTokenAttributes(token)
    return (kind === 'control' ? control : !unknown) ? token : null
  }
}

function leadingSpaces(text: string): number {
  return text.length - text.replace(/^ +/, '').length
}
