import { GrammarError, type GrammarErrorKind } from '../rules/grammar-error.ts'
import { commonTerminals } from './lark-common.ts'

/** The right side of a rule or a terminal. */
export type LarkTree =
  | { readonly type: 'name'; readonly name: string; readonly line: number }
  | { readonly type: 'text'; readonly text: string; readonly ignoreCase: boolean }
  /** One character between two, inclusive. */
  | { readonly type: 'range'; readonly first: number; readonly last: number }
  | { readonly type: 'regex'; readonly source: string; readonly flags: string; readonly line: number }
  | { readonly type: 'sequence'; readonly parts: readonly LarkTree[] }
  | { readonly type: 'choice'; readonly options: readonly LarkTree[] }
  | { readonly type: 'repeat'; readonly part: LarkTree; readonly min: number; readonly max?: number }

/** Rules and terminals by name, and what may stand between any two terminals. */
export type LarkGrammar = { readonly definitions: ReadonlyMap<string, LarkTree>; readonly ignored: readonly LarkTree[] }

const maxChars = 100_000
const maxNesting = 50
const name = /_?[a-z][_a-z0-9]*|_?[A-Z][_A-Z0-9]*/y

/**
 * Parses a grammar in Lark's language. Names of branches, priorities and the modifiers `?` and `!` do not affect which texts it allows,
 * and are dropped. Throws `invalid-grammar`, or `unsupported-grammar` for templates, `%declare` and other modules than `common`, with
 * the line.
 */
export function parseLark(text: string): LarkGrammar {
  if (text.length > maxChars) {
    throw new GrammarError('invalid-grammar', `the grammar has ${text.length} characters; the most is ${maxChars}`)
  }
  return new LarkReader(text).read()
}

class LarkReader {
  readonly #text: string
  #at = 0
  #depth = 0
  readonly #definitions = new Map<string, LarkTree>()
  readonly #ignored: LarkTree[] = []
  /** The line at a position that was read. */
  #counted = { to: 0, line: 1 }

  constructor(text: string) {
    this.#text = text
  }

  read(): LarkGrammar {
    this.#space(true)
    while (this.#at < this.#text.length) {
      if (this.#text[this.#at] === '%') this.#directive()
      else this.#definition()
      if (this.#at < this.#text.length && this.#match(/\r?\n/y) === undefined) this.#fail('the end of the line was expected')
      this.#space(true)
    }
    return { definitions: this.#definitions, ignored: this.#ignored }
  }

  #definition(): void {
    this.#match(/[?!]{1,2}/y)
    const defined = this.#match(name) ?? this.#fail('the name of a rule or a terminal was expected')
    if (this.#text[this.#at] === '{') this.#refuse('templates cannot be used; write the rule out')
    this.#match(/\.-?\d+/y)
    this.#space(false)
    if (this.#match(/:/y) === undefined) this.#fail("':' was expected")
    const line = this.#line
    this.#define(defined, this.#choice(false), line)
  }

  #define(defined: string, tree: LarkTree, line: number): void {
    if (this.#definitions.has(defined)) this.#fail(`'${defined}' is defined twice`, line)
    this.#definitions.set(defined, tree)
  }

  #directive(): void {
    const word = this.#match(/%[a-z]+/y) ?? '%'
    this.#space(false)
    if (word === '%ignore') this.#ignored.push(this.#choice(false))
    else if (word === '%import') this.#import()
    else this.#refuse(`'${word}' cannot be used; only %ignore and %import can`)
  }

  #import(): void {
    const path = this.#match(/\.?\w+(?:\.\w+)*/y) ?? this.#fail("a module was expected, such as in '%import common.WS'")
    this.#space(false)
    const names = this.#match(/\(/y) === undefined ? undefined : this.#importedNames()
    const [module, ...rest] = path.split('.')
    if (module !== 'common') this.#refuse(`'${path}' cannot be imported; only terminals of 'common' can`)
    if (names !== undefined) {
      for (const each of names) this.#importOne(each, each)
      return
    }
    const alias = this.#match(/->/y) === undefined ? undefined : this.#alias()
    const [imported = '', ...others] = rest
    if (others.length > 0) this.#fail(`'${path}' is not a terminal of 'common'`)
    this.#importOne(imported, alias ?? imported)
  }

  #importedNames(): string[] {
    const names: string[] = []
    do {
      this.#space(true)
      names.push(this.#match(name) ?? this.#fail('the name of a terminal was expected'))
      this.#space(true)
    } while (this.#match(/,/y) !== undefined)
    if (this.#match(/\)/y) === undefined) this.#fail("')' was expected")
    this.#space(false)
    return names
  }

  #importOne(imported: string, alias: string): void {
    const source = commonTerminals.get(imported)
    if (source === undefined)
      this.#fail(`'common' has no terminal '${imported}'; it has ${[...commonTerminals.keys()].join(', ')}`)
    const line = this.#line
    this.#define(alias, { type: 'regex', source, flags: '', line }, line)
  }

  #alias(): string {
    this.#space(false)
    const alias = this.#match(name) ?? this.#fail("a name was expected after '->'")
    this.#space(false)
    return alias
  }

  #choice(isNested: boolean): LarkTree {
    if (++this.#depth > maxNesting) this.#fail(`more than ${maxNesting} nested groups`)
    const options: LarkTree[] = []
    do {
      options.push(this.#sequence(isNested))
      if (this.#match(/->/y) !== undefined) this.#alias()
    } while (this.#isAlternative())
    this.#depth--
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { type: 'choice', options }
  }

  /** An alternative may begin on a line of its own. */
  #isAlternative(): boolean {
    const before = this.#at
    this.#space(true)
    if (this.#match(/\|/y) !== undefined) return true
    this.#at = before
    return false
  }

  #sequence(isNested: boolean): LarkTree {
    const parts: LarkTree[] = []
    this.#space(isNested)
    for (let atom = this.#atom(); atom !== undefined; atom = this.#atom()) {
      this.#space(isNested)
      parts.push(this.#repeated(atom))
      this.#space(isNested)
    }
    const [only] = parts
    return parts.length === 1 && only !== undefined ? only : { type: 'sequence', parts }
  }

  #atom(): LarkTree | undefined {
    const line = this.#line
    if (this.#match(/\(/y) !== undefined) return this.#group(')')
    if (this.#match(/\[/y) !== undefined) return { type: 'repeat', part: this.#group(']'), min: 0, max: 1 }
    const string = this.#match(/"(?:[^"\\\n]|\\[^\n])*"i?/y)
    if (string !== undefined) return this.#string(string)
    const regex = this.#match(/\/(?!\/)(?:[^/\\\n]|\\[^\n])+\/[a-z]*/y)
    if (regex !== undefined) {
      const end = regex.lastIndexOf('/')
      return { type: 'regex', source: regex.slice(1, end), flags: regex.slice(end + 1), line }
    }
    const used = this.#match(name)
    if (used === undefined) return undefined
    if (this.#text[this.#at] === '{') this.#refuse('templates cannot be used; write the rule out')
    return { type: 'name', name: used, line }
  }

  #group(closing: ')' | ']'): LarkTree {
    const inner = this.#choice(true)
    if (this.#match(closing === ')' ? /\)/y : /\]/y) === undefined) this.#fail(`'${closing}' was expected`)
    return inner
  }

  #string(literal: string): LarkTree {
    const text = this.#unquote(literal)
    this.#space(false)
    if (this.#match(/\.\./y) === undefined) return { type: 'text', text, ignoreCase: literal.endsWith('i') }
    this.#space(false)
    const end = this.#match(/"(?:[^"\\\n]|\\[^\n])*"/y) ?? this.#fail("a text was expected after '..'")
    const [first, last] = [codeOf(text), codeOf(this.#unquote(end))]
    if (first === undefined || last === undefined || first > last) {
      return this.#fail(`${literal}..${end} is not a range: expected two characters, the lower one first`)
    }
    return { type: 'range', first, last }
  }

  #unquote(literal: string): string {
    const inside = literal.slice(1, literal.lastIndexOf('"'))
    return readLarkString(inside) ?? this.#fail(`${literal} has an escape that Lark does not know`)
  }

  #repeated(part: LarkTree): LarkTree {
    const sign = this.#match(/[*+?]/y)
    if (sign !== undefined) return { type: 'repeat', part, min: sign === '+' ? 1 : 0, ...(sign === '?' && { max: 1 }) }
    if (this.#match(/~/y) === undefined) return part
    const counts = this.#match(/\s*\d+(?:\s*\.\.\s*\d+)?/y) ?? this.#fail("a number was expected after '~'")
    const [min = 0, max = min] = counts.split('..').map(Number)
    if (max < min) this.#fail(`the repetition ~${counts.trim()} ends before it begins`)
    return { type: 'repeat', part, min, max }
  }

  get #line(): number {
    const lines = this.#text.slice(this.#counted.to, this.#at).split('\n').length - 1
    this.#counted = { to: this.#at, line: this.#counted.line + lines }
    return this.#counted.line
  }

  #space(canEndLine: boolean): void {
    this.#match(canEndLine ? /(?:[ \t\r\n]|(?:\/\/|#)[^\n]*)*/y : /(?:[ \t]|(?:\/\/|#)[^\r\n]*)*/y)
  }

  #match(form: RegExp): string | undefined {
    form.lastIndex = this.#at
    const match = form.exec(this.#text)
    if (match === null) return undefined
    this.#at += match[0].length
    return match[0]
  }

  #refuse(what: string): never {
    throw failure('unsupported-grammar', what, this.#line)
  }

  #fail(what: string, line = this.#line): never {
    const near = JSON.stringify(this.#text.slice(this.#at, this.#at + 20))
    throw failure('invalid-grammar', `${what}, near ${near}`, line)
  }
}

function codeOf(text: string): number | undefined {
  return [...text].length === 1 ? text.codePointAt(0) : undefined
}

function failure(kind: GrammarErrorKind, what: string, line: number): GrammarError {
  return new GrammarError(kind, `the grammar cannot be read, line ${line}: ${what}`)
}

const letters: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f', '"': '"', "'": "'", '\\': '\\' }

/** The text between the quotes of a string in Lark's language; undefined for an escape that it does not have. */
function readLarkString(inside: string): string | undefined {
  let isKnown = true
  const text = inside.replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gsu, (_, x, u, long, letter) => {
    const hex = x ?? u ?? long
    const code = hex === undefined ? undefined : Number.parseInt(hex, 16)
    const char = code === undefined ? letters[letter] : code <= 0x10ffff ? String.fromCodePoint(code) : undefined
    isKnown &&= char !== undefined
    return char ?? ''
  })
  return isKnown ? text : undefined
}
