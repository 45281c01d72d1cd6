import { anyChar, type CharSet, charSet, invert } from './char-set.ts'
import type { Expression } from './expression.ts'
import { GrammarError } from './grammar-error.ts'

const maxNesting = 64
const maxRepetitions = 2000
/** Each operator nests what precedes it, and groups nest too: the tree must fit on the stack. */
const maxOperators = 8

/**
 * Parses GBNF as llama.cpp does: the last rule of a name wins. Throws `invalid-grammar` with the line.
 * References to the model's tokens (`<[7]>`, `!<think>`) are refused.
 */
export function parseGbnf(text: string): Map<string, Expression> {
  return new GbnfReader(text).read()
}

class GbnfReader {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): Map<string, Expression> {
    const rules = new Map<string, Expression>()
    this.#space(true)
    while (this.#at < this.#text.length) {
      const name = this.#match(/[a-zA-Z0-9-]+/y) ?? this.#fail('a rule name was expected')
      this.#space(false)
      if (this.#match(/::=/y) === undefined) this.#fail("'::=' was expected")
      this.#space(true)
      rules.set(name, this.#choice(false))
      if (this.#at < this.#text.length && this.#match(/\r\n|\r|\n/y) === undefined) this.#fail('the end of the rule was expected')
      this.#space(true)
    }
    return rules
  }

  #choice(isNested: boolean): Expression {
    if (++this.#depth > maxNesting) this.#fail(`more than ${maxNesting} nested groups`)
    const options = [this.#sequence(isNested)]
    while (this.#match(/\|/y) !== undefined) {
      this.#space(true)
      options.push(this.#sequence(isNested))
    }
    this.#depth--
    return options.length === 1 && options[0] !== undefined ? options[0] : { type: 'choice', options }
  }

  #sequence(isNested: boolean): Expression {
    const parts: Expression[] = []
    for (let part = this.#atom(); part !== undefined; part = this.#atom()) {
      this.#space(isNested)
      let count = this.#count()
      let times = 1
      let operators = 0
      while (count !== undefined) {
        if (++operators > maxOperators) this.#fail(`more than ${maxOperators} repetition operators in a row`)
        times *= Math.max(1, count.max ?? count.min)
        // llama.cpp multiplies operators in a row.
        if (times > maxRepetitions && part.type === 'repeat') this.#fail(`more than ${maxRepetitions} repetitions in a row`)
        part = { type: 'repeat', part, ...count }
        this.#space(isNested)
        count = this.#count()
      }
      parts.push(part)
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: 'sequence', parts }
  }

  #atom(): Expression | undefined {
    const char = this.#text[this.#at]
    if (char === '"') return this.#literal()
    if (char === '[') return this.#class()
    if (char === '<' || char === '!') this.#fail('tokens of the model cannot be named here; write their text')
    if (this.#match(/\./y) !== undefined) return { type: 'chars', set: anyChar }
    if (this.#match(/\(/y) !== undefined) {
      this.#space(true)
      const inner = this.#choice(true)
      if (this.#match(/\)/y) === undefined) this.#fail("')' was expected")
      return inner
    }
    const name = this.#match(/[a-zA-Z0-9-]+/y)
    return name === undefined ? undefined : { type: 'rule', name }
  }

  #literal(): Expression {
    this.#at++
    let text = ''
    while (this.#match(/"/y) === undefined) text += String.fromCodePoint(this.#char())
    return { type: 'literal', text }
  }

  #class(): Expression {
    this.#at++
    const isInverted = this.#match(/\^/y) !== undefined
    const ranges: [number, number][] = []
    while (this.#match(/\]/y) === undefined) {
      const first = this.#char()
      const isRange = this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']'
      if (isRange) this.#at++
      ranges.push([first, isRange ? this.#char() : first])
    }
    if (ranges.length === 0) this.#fail('a class without characters')
    const set: CharSet = charSet(...ranges)
    return { type: 'chars', set: isInverted ? invert(set) : set }
  }

  #char(): number {
    const escaped = this.#match(/\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[trn\\"[\]-])/y)
    if (escaped === undefined) {
      const code = this.#text.codePointAt(this.#at)
      if (code === undefined) this.#fail('it ends inside a text or a class')
      if (code === 0x5c) this.#fail(`unknown escape '${this.#text.slice(this.#at, this.#at + 2)}'`)
      this.#at += code > 0xffff ? 2 : 1
      return code
    }
    const kind = escaped[1] ?? ''
    if (!'xuU'.includes(kind)) return { t: 9, r: 13, n: 10 }[kind] ?? kind.charCodeAt(0)
    const code = Number.parseInt(escaped.slice(2), 16)
    if (code > 0x10ffff) this.#fail(`'${escaped}' is not a character that a model can write`)
    return code
  }

  #count(): { min: number; max?: number } | undefined {
    const sign = this.#match(/[*+?]/y)
    if (sign !== undefined) return sign === '?' ? { min: 0, max: 1 } : { min: sign === '+' ? 1 : 0 }
    if (this.#text[this.#at] !== '{') return undefined
    const braces = this.#match(/\{[ \t]*\d+[ \t]*(?:,[ \t]*\d*[ \t]*)?\}/y) ?? this.#fail("'{2}', '{2,}' or '{2,5}' was expected")
    const [min = 0, max] = braces
      .slice(1, -1)
      .split(',')
      .map((part) => (part.trim() === '' ? undefined : Number(part)))
    if (!braces.includes(',')) return { min, max: min }
    return max === undefined ? { min } : { min, max }
  }

  #space(canEndLine: boolean): void {
    this.#match(canEndLine ? /(?:[ \t\r\n]|#[^\r\n]*)*/y : /(?:[ \t]|#[^\r\n]*)*/y)
  }

  #match(form: RegExp): string | undefined {
    form.lastIndex = this.#at
    const match = form.exec(this.#text)
    if (match === null) return undefined
    this.#at += match[0].length
    return match[0]
  }

  #fail(what: string): never {
    const line = this.#text.slice(0, this.#at).split('\n').length
    const near = JSON.stringify(this.#text.slice(this.#at, this.#at + 20))
    throw new GrammarError('invalid-grammar', `the grammar cannot be read: ${what}, in line ${line} near ${near}`)
  }
}
