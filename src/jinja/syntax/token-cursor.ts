import { JinjaError } from '../values/jinja-error.ts'
import { failAt, lineOf, type Token, tokenize } from './tokenize.ts'

/** The parser's position in the tokens of a template, and what the parser collects on the way. */
export class TokenCursor {
  readonly #source: string
  readonly #tokens: readonly Token[]
  #index = 0
  /** The names that were read since the innermost macro began. */
  mentions = new Set<string>()
  /** Unknown filters and tests that make the template fail as a whole; inside an `if` they fail only when they are reached. */
  unknown: JinjaError[] = []
  inCondition = false

  constructor(source: string) {
    this.#source = source
    this.#tokens = tokenize(source)
  }

  get current(): Token {
    const token = this.#tokens[this.#index]
    if (token === undefined) throw new JinjaError('syntax', 'the template ends too early')
    return token
  }

  next(): Token {
    const token = this.current
    if (token.type !== 'end') this.#index += 1
    return token
  }

  /** Whether the current token, or the one `ahead` tokens later, matches. */
  is(type: Token['type'], text?: string, ahead = 0): boolean {
    const token = this.#tokens[this.#index + ahead]
    return token !== undefined && token.type === type && (text === undefined || token.text === text)
  }

  isOperator(...texts: readonly string[]): boolean {
    return this.current.type === 'operator' && texts.includes(this.current.text)
  }

  isName(...texts: readonly string[]): boolean {
    return this.current.type === 'name' && texts.includes(this.current.text)
  }

  /** Consumes the current token if it matches. */
  skip(type: Token['type'], text?: string): boolean {
    if (!this.is(type, text)) return false
    this.next()
    return true
  }

  expect(type: Token['type'], text?: string): Token {
    if (!this.is(type, text)) this.fail(`expected ${text ?? type}, got ${this.describe()}`)
    return this.next()
  }

  describe(): string {
    const { type, text } = this.current
    return text === '' ? type : `'${text}'`
  }

  /** Notes a filter or test that does not exist. `at` is the offset of its name. */
  noteUnknown(kind: 'filter' | 'test', name: string, at: number): void {
    // Only the first is reported, and finding its line takes as long as the template is.
    if (this.inCondition || this.unknown.length > 0) return
    this.unknown.push(new JinjaError('syntax', `No ${kind} named '${name}'.`, { line: lineOf(this.#source, at) }))
  }

  fail(message: string): never {
    failAt(this.#source, this.current.at, message)
  }
}
