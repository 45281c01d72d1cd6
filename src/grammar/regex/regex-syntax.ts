import { type CharSet, charSet, charsOf, invert, unite } from '../rules/char-set.ts'
import { GrammarError } from '../rules/grammar-error.ts'
import { inEitherCase } from './letter-case.ts'
import { digitChars, lineEnds, propertyChars, spaceChars, wordChars } from './regex-classes.ts'

/** A parsed ECMAScript regular expression. Greediness and captures do not affect which texts match, so they are dropped. */
export type Regex =
  | { readonly type: 'chars'; readonly set: CharSet }
  | { readonly type: 'sequence'; readonly parts: readonly Regex[] }
  | { readonly type: 'choice'; readonly options: readonly Regex[] }
  | { readonly type: 'repeat'; readonly part: Regex; readonly min: number; readonly max?: number }
  | { readonly type: 'start' }
  | { readonly type: 'end' }
  | { readonly type: 'lookahead'; readonly negated: boolean; readonly part: Regex }

/** How a dialect differs from ECMAScript without flags. */
export type RegexFlags = {
  /** The characters that `.` does not match. */
  readonly lineEnds?: CharSet
  readonly ignoreCase?: boolean
}

const maxNesting = 100

/**
 * Parses a pattern. Throws `unsupported-regex` for what no grammar can express (back-references, look-behind, word
 * boundaries), and `invalid-regex` for what is not a pattern.
 */
export function parseRegex(source: string, flags: RegexFlags = {}): Regex {
  checkSyntax(source)
  return new RegexReader(source, flags).read()
}

/** JavaScript's own parser decides what is a pattern. JSON Schema means Unicode mode, but older patterns are in use too. */
function checkSyntax(source: string): void {
  for (const flags of ['u', '']) {
    try {
      new RegExp(source, flags)
      return
    } catch (error) {
      if (flags === '') {
        const why = error instanceof Error ? error.message : String(error)
        throw new GrammarError('invalid-regex', `'${source}' is not an ECMAScript regular expression: ${why}`, { cause: error })
      }
    }
  }
}

class RegexReader {
  readonly #chars: readonly string[]
  readonly #dot: CharSet
  readonly #ignoresCase: boolean
  #position = 0
  #depth = 0

  constructor(source: string, { lineEnds: excluded = lineEnds, ignoreCase = false }: RegexFlags) {
    this.#chars = [...source]
    this.#dot = invert(excluded)
    this.#ignoresCase = ignoreCase
  }

  read(): Regex {
    const regex = this.#choice()
    if (this.#position < this.#chars.length) throw unsupported(`'${this.#peek()}' at character ${this.#position}`)
    return regex
  }

  #choice(): Regex {
    if (++this.#depth > maxNesting) throw unsupported(`more than ${maxNesting} nested groups`)
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth--
    return options.length === 1 && options[0] !== undefined ? options[0] : { type: 'choice', options }
  }

  #sequence(): Regex {
    const parts: Regex[] = []
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek()) {
      parts.push(this.#quantified(this.#atom()))
    }
    return { type: 'sequence', parts }
  }

  #quantified(part: Regex): Regex {
    const count = this.#count()
    if (count === undefined) return part
    this.#take('?')
    return { type: 'repeat', part, ...count }
  }

  #count(): { min: number; max?: number } | undefined {
    if (this.#take('*')) return { min: 0 }
    if (this.#take('+')) return { min: 1 }
    if (this.#take('?')) return { min: 0, max: 1 }
    const match = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#ahead(24))
    if (match === null) return undefined
    this.#position += match[0].length
    const min = Number(match[1])
    if (match[2] === undefined) return { min, max: min }
    return match[3] === '' ? { min } : { min, max: Number(match[3]) }
  }

  #atom(): Regex {
    const char = this.#next()
    if (char === '(') return this.#group()
    if (char === '[') return { type: 'chars', set: this.#class() }
    if (char === '.') return { type: 'chars', set: this.#dot }
    if (char === '^') return { type: 'start' }
    if (char === '$') return { type: 'end' }
    return { type: 'chars', set: this.#cased(char === '\\' ? this.#escape(false) : charsOf(char)) }
  }

  #group(): Regex {
    const look = ['?=', '?!'].find((opening) => this.#takeText(opening))
    if (look === undefined) this.#groupKind()
    const part = this.#choice()
    if (!this.#take(')')) throw unsupported('a group without an end')
    return look === undefined ? part : { type: 'lookahead', negated: look === '?!', part }
  }

  #groupKind(): void {
    if (this.#takeText('?:') || this.#peek() !== '?') return
    const name = /^\?<[\p{ID_Start}$_][\p{ID_Continue}$_]*>/u.exec(this.#ahead(200))
    if (name === null) throw unsupported(`the group '(${this.#ahead(3)}'`)
    this.#position += [...name[0]].length
  }

  #class(): CharSet {
    const negated = this.#take('^')
    let set: CharSet = []
    while (!this.#take(']')) {
      const first = this.#classAtom()
      if (this.#peek() !== '-' || this.#chars[this.#position + 1] === ']') {
        set = unite(set, first)
        continue
      }
      this.#position++
      const last = this.#classAtom()
      const [from, to] = [soleCode(first), soleCode(last)]
      set = from === undefined || to === undefined ? unite(set, first, last, charsOf('-')) : unite(set, charSet([from, to]))
    }
    const cased = this.#cased(set)
    return negated ? invert(cased) : cased
  }

  #cased(set: CharSet): CharSet {
    return this.#ignoresCase ? inEitherCase(set) : set
  }

  #classAtom(): CharSet {
    const char = this.#next()
    return char === '\\' ? this.#escape(true) : charsOf(char)
  }

  #escape(inClass: boolean): CharSet {
    const char = this.#next()
    const lower = char.toLowerCase()
    const kinds: Readonly<Record<string, CharSet>> = { d: digitChars, w: wordChars, s: spaceChars }
    const kind = kinds[lower]
    if (kind !== undefined) return char === lower ? kind : invert(kind)
    if (lower === 'p') return this.#property(char === 'P')
    const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', v: '\v', f: '\f', r: '\r' }
    const control = controls[char]
    if (control !== undefined) return charsOf(control)
    if (char === 'b' && inClass) return charsOf('\b')
    if (char === 'c') return charSet(...[this.#next().charCodeAt(0) % 32].map((code) => [code, code] as const))
    if (char === 'x') return this.#hex(/^[0-9a-fA-F]{2}/) ?? charsOf('x')
    if (char === 'u') return this.#unicode()
    if (char === '0' && !/\d/.test(this.#peek() ?? '')) return charsOf('\0')
    if (/[0-9]/.test(char) || char === 'k') throw unsupported(`the back-reference '\\${char}'`)
    if (/[bB]/.test(char)) throw unsupported(`the word boundary '\\${char}'`)
    return charsOf(char)
  }

  #property(negated: boolean): CharSet {
    const match = /^\{[^}]*\}/.exec(this.#ahead(80))
    if (match === null) throw unsupported("'\\p' without a property")
    this.#position += match[0].length
    const set = propertyChars(match[0])
    return negated ? invert(set) : set
  }

  #unicode(): CharSet {
    const braced = /^\{([0-9a-fA-F]{1,8})\}/.exec(this.#ahead(10))
    if (braced?.[1] !== undefined) {
      this.#position += braced[0].length
      const code = Number.parseInt(braced[1], 16)
      return charSet([code, code])
    }
    const pair = /^([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(this.#ahead(10))
    if (pair?.[1] !== undefined && pair[2] !== undefined) {
      this.#position += pair[0].length
      return charsOf(String.fromCharCode(Number.parseInt(pair[1], 16), Number.parseInt(pair[2], 16)))
    }
    return this.#hex(/^[0-9a-fA-F]{4}/) ?? charsOf('u')
  }

  #hex(form: RegExp): CharSet | undefined {
    const match = form.exec(this.#ahead(4))
    if (match === null) return undefined
    this.#position += match[0].length
    const code = Number.parseInt(match[0], 16)
    return charSet([code, code])
  }

  #ahead(count: number): string {
    return this.#chars.slice(this.#position, this.#position + count).join('')
  }

  #peek(): string | undefined {
    return this.#chars[this.#position]
  }

  #next(): string {
    const char = this.#chars[this.#position++]
    if (char === undefined) throw unsupported('an unexpected end')
    return char
  }

  #take(char: string): boolean {
    return this.#takeText(char)
  }

  #takeText(text: string): boolean {
    if (this.#ahead(text.length) !== text) return false
    this.#position += text.length
    return true
  }
}

function soleCode(set: CharSet): number | undefined {
  const [range] = set
  return set.length === 1 && range !== undefined && range[0] === range[1] ? range[0] : undefined
}

/** The failure of a pattern that is valid, and that no grammar can express. */
export function unsupported(what: string): GrammarError {
  return new GrammarError('unsupported-regex', `a grammar cannot express ${what} of a regular expression`)
}
