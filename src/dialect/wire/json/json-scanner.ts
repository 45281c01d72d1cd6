import { AppError } from '../../../contract/errors.ts'

/** Limits for one JSON text. Real requests are far below; a larger one would hold up everybody else. */
export const jsonLimits = {
  /** Levels of lists and objects: far below what recursion can handle. */
  depth: 128,
  /** Numbers, texts, lists and objects. Parsing costs time by values rather than by bytes: a million take some 50 ms. */
  values: 1_000_000,
  /** Texts, including names of fields: distinct short ones cost ten times as much as a number. */
  texts: 200_000,
  /** Lists and objects, each of which costs four times as much as a number, and more when they are nested. */
  containers: 250_000,
  /** Named fields of objects, each of which costs ten times as much as a number. */
  fields: 45_000,
  /** Bytes that are neither in a text nor white space. A million ids of tokens take seven; long fractions cost as much as fields. */
  digits: 10_000_000,
} as const

const tab = 0x09
const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Counts the contents of a JSON text while its pieces arrive, before anything is parsed. It does not check the syntax. */
export class JsonScanner {
  readonly #subject: string
  #offset = 0
  #depth = 0
  #values = 0
  #texts = 0
  #containers = 0
  #fields = 0
  #digits = 0
  #inString = false
  /** The piece before ended with a backslash that escapes what follows. */
  #isEscaping = false

  /** `subject`: the name of the text in messages. */
  constructor(subject: string) {
    this.#subject = subject
  }

  /** Throws `invalid-json` or `body-too-large` as soon as a limit is exceeded. */
  push(piece: Uint8Array): void {
    const { length } = piece
    let index = this.#inString ? this.#skipString(piece, 0) : 0
    let digits = this.#digits
    for (; index < length; index++) {
      digits += 1
      switch (piece[index]) {
        case space:
        case lineFeed:
        case carriageReturn:
        case tab:
          digits -= 1
          break
        case quote:
          if (++this.#texts > jsonLimits.texts) throw this.#tooMany('texts', 'texts')
          index = this.#skipString(piece, index + 1) - 1
          break
        case comma:
          if (++this.#values > jsonLimits.values) throw this.#tooMany('values', 'values (numbers, texts, lists and objects)')
          break
        case colon:
          if (++this.#fields > jsonLimits.fields) throw this.#tooMany('fields', 'named fields')
          break
        case openBrace:
        case openBracket:
          if (++this.#depth > jsonLimits.depth) throw this.#tooDeep(this.#offset + index)
          if (++this.#containers > jsonLimits.containers) throw this.#tooMany('containers', 'lists and objects')
          if (++this.#values > jsonLimits.values) throw this.#tooMany('values', 'values (numbers, texts, lists and objects)')
          break
        case closeBrace:
        case closeBracket:
          this.#depth -= 1
          break
      }
    }
    this.#digits = digits
    if (digits > jsonLimits.digits) throw this.#tooMany('digits', 'bytes outside of texts')
    this.#offset += length
  }

  /** The index after the string's end, or the piece's length when the string continues in the next one. */
  #skipString(piece: Uint8Array, start: number): number {
    // The byte that the piece before escaped.
    let from = this.#isEscaping ? start + 1 : start
    this.#isEscaping = false
    for (;;) {
      const end = piece.indexOf(quote, from)
      const last = end === -1 ? piece.length : end
      let first = last
      while (first > from && piece[first - 1] === backslash) first -= 1
      const isEscaped = (last - first) % 2 === 1
      if (end === -1) {
        this.#inString = true
        this.#isEscaping = isEscaped
        return piece.length
      }
      from = end + 1
      if (isEscaped) continue
      this.#inString = false
      return from
    }
  }

  #tooMany(limit: Exclude<keyof typeof jsonLimits, 'depth'>, what: string): AppError {
    return new AppError('body-too-large', `${this.#subject} has more than ${jsonLimits[limit]} ${what}: split the request`)
  }

  #tooDeep(offset: number): AppError {
    return new AppError('invalid-json', `${this.#subject} nests more than ${jsonLimits.depth} levels deep at byte ${offset}`)
  }
}
