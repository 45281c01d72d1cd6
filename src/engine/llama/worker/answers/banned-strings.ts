import { LruMap } from '../../../../base/lru-map.ts'
import { search } from '../../../../model-text/parse/search.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { SourcedToken } from '../sampling/token-source.ts'
import type { Vocabulary } from '../sampling/vocabulary.ts'

/** The tokens that are now certain, in order, and how many of the last ones to take back. */
export type Sifted = { readonly released: readonly SourcedToken[]; readonly takenBack: number }

/**
 * Keeps strings out of an output, ignoring case: tokens are held while they may become a banned string. When they do, the output returns to
 * where the string began, and its first token is not chosen there again (as `banned_strings` of exllamav2 and exllamav3).
 */
export class BannedStrings {
  readonly #texts: readonly string[]
  readonly #bytesOf: Vocabulary['bytesOf']
  #held: SourcedToken[] = []
  #released = 0
  /** The tokens that were taken back, by their position in the output. */
  readonly #tried = new Map<number, Set<Token>>()

  constructor(texts: readonly string[], { bytesOf }: Pick<Vocabulary, 'bytesOf'>) {
    this.#texts = texts.map(fold)
    this.#bytesOf = bytesOf
  }

  /** Tokens that were taken back at this position. */
  forbidden(position: number): ReadonlySet<Token> | undefined {
    return this.#tried.get(position)
  }

  push(next: SourcedToken): Sifted {
    this.#held.push(next)
    // Tokens that the server inserts stay.
    if (next.isInserted === true) return { released: this.end(), takenBack: 0 }
    const { pieces, wholes } = this.#read()
    const { tag, at } = search(pieces.join(''), this.#texts)
    const from = pieceAt(pieces, at)
    if (tag === undefined) return { released: this.#release(wholes.lastIndexOf(true, from)), takenBack: 0 }
    const position = this.#released + from
    for (const later of this.#tried.keys()) if (later > position) this.#tried.delete(later)
    const taken = this.#held.splice(from)
    const tried = this.#tried.get(position) ?? new Set()
    this.#tried.set(position, tried.add((taken[0] as SourcedToken).token))
    return { released: [], takenBack: taken.length }
  }

  /** Releases the held tokens at the end of the output. */
  end(): readonly SourcedToken[] {
    return this.#release(this.#held.length)
  }

  #release(count: number): readonly SourcedToken[] {
    const released = this.#held.splice(0, count)
    for (const _ of released) this.#tried.delete(this.#released++)
    return released
  }

  /** The text that each held token completes, and whether it begins and ends between characters. */
  #read(): { readonly pieces: readonly string[]; readonly wholes: readonly boolean[] } {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    /** The bytes since the last boundary between characters. */
    let [left, open]: [Uint8Array, string] = [new Uint8Array(), '']
    const wholes = [true]
    const pieces = this.#held.map(({ token }) => {
      const bytes = this.#bytesOf(token)
      left = Buffer.concat([left, bytes])
      const text = decoder.decode(bytes, { stream: true })
      open += text
      const isWhole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(left) === open
      if (isWhole) [left, open] = [new Uint8Array(), '']
      wholes.push(isWhole)
      return fold(text)
    })
    return { pieces, wholes }
  }
}

/** Folds each character by itself, so that a text and its pieces fold alike. */
function fold(text: string): string {
  return Array.from(text, (letter) => letter.toLowerCase()).join('')
}

/** The index of the piece with the character at `at`; the number of pieces if none has it. */
function pieceAt(pieces: readonly string[], at: number): number {
  let end = 0
  const index = pieces.findIndex((piece) => {
    end += piece.length
    return end > at
  })
  return index === -1 ? pieces.length : index
}

/** Clients send the same list again and again. */
const known = new LruMap<string, readonly Token[]>({ max: 8 })

/** The tokens whose own text contains a banned string: they are never chosen. */
export function tokensWith(texts: readonly string[], { size, bytesOf }: Vocabulary): readonly Token[] {
  const find = () => {
    const folded = texts.map(fold)
    return tokensWhere(size, (token) => {
      const text = fold(Buffer.from(bytesOf(token)).toString())
      return folded.some((banned) => text.includes(banned))
    })
  }
  return known.find(JSON.stringify(texts), find)
}

/** The tokens of a vocabulary for which `holds` is true. */
export function tokensWhere(size: number, holds: (token: Token) => boolean): readonly Token[] {
  return Array.from({ length: size }, (_, id) => id as Token).filter(holds)
}
