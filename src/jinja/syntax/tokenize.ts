import { wellFormed } from '../values/foreign-text.ts'
import { JinjaError } from '../values/jinja-error.ts'
import { spaceClass, trimText } from '../values/text.ts'
import { float, type Value } from '../values/value.ts'

/** A token. `at` is its offset in the source whose line ends were all made `\n`. */
export type Token =
  | { readonly type: 'data'; readonly text: string; readonly at: number }
  | {
      readonly type: 'variable-begin' | 'variable-end' | 'block-begin' | 'block-end' | 'end'
      readonly text: ''
      readonly at: number
    }
  | { readonly type: 'name' | 'operator'; readonly text: string; readonly at: number }
  | { readonly type: 'string' | 'integer' | 'float'; readonly text: string; readonly value: Value; readonly at: number }

const space = spaceClass
const pattern = {
  opening: /\{[%{#]/g,
  raw: new RegExp(`\\{%[-+]?${space}*raw${space}*(?:-%\\}${space}*|%\\})`, 'y'),
  rawEnd: new RegExp(`\\{%([-+]?)${space}*endraw${space}*(?:\\+%\\}|-%\\}${space}*|%\\}\\n?)`, 'g'),
  commentEnd: new RegExp(`\\+#\\}|-#\\}${space}*|#\\}\\n?`, 'g'),
  blockEnd: new RegExp(`\\+%\\}|-%\\}${space}*|%\\}\\n?`, 'y'),
  variableEnd: new RegExp(`-\\}\\}${space}*|\\}\\}`, 'y'),
  space: new RegExp(`${space}+`, 'y'),
  float: /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy,
  integer: /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy,
  name: /[\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}]+/uy,
  string: /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y,
  operator: /\/\/|\*\*|[=!<>]=|[-+*/%~[\](){}<>=.:|,;]/y,
}

/**
 * Splits a template into tokens as jinja2 does with `trim_blocks` and `lstrip_blocks`, the settings of chat templates. Throws
 * a `JinjaError` for a syntax error.
 */
export function tokenize(template: string): Token[] {
  const source = wellFormed(template).replace(/\r\n?/g, '\n').replace(/\n$/, '')
  const tokens: Token[] = []
  let position = 0
  // Whether the text after the last tag starts at the beginning of a line.
  let lineStarting = true
  const addData = (text: string, at: number) => {
    if (text !== '') tokens.push({ type: 'data', text, at })
  }
  while (position < source.length) {
    const at = find(pattern.opening, source, position)?.index
    if (at === undefined) break
    const kind = source[at + 1]
    const signed = source[at + 2] === '-' || source[at + 2] === '+'
    const text = source.slice(position, at)
    addData(strip(text, { sign: signed ? source[at + 2] : undefined, keepIndent: kind === '{', lineStarting }), position)
    const inside = at + 2 + (signed ? 1 : 0)
    if (kind === '#') {
      position = endOf(find(pattern.commentEnd, source, inside)) ?? failAt(source, at, 'the comment is not closed')
    } else if (kind === '{') {
      tokens.push({ type: 'variable-begin', text: '', at })
      position = tokenizeTag({ source, tokens, from: inside, end: pattern.variableEnd, endType: 'variable-end' })
    } else {
      const raw = match(pattern.raw, source, at)
      if (raw === undefined) {
        tokens.push({ type: 'block-begin', text: '', at })
        position = tokenizeTag({ source, tokens, from: inside, end: pattern.blockEnd, endType: 'block-end' })
      } else {
        const start = at + raw.length
        const end = find(pattern.rawEnd, source, start) ?? failAt(source, at, 'the raw block is not closed')
        const options = { sign: end[1], keepIndent: false, lineStarting: source[start - 1] === '\n' }
        addData(strip(source.slice(start, end.index), options), start)
        position = endOf(end) ?? source.length
      }
    }
    lineStarting = source[position - 1] === '\n'
  }
  addData(source.slice(position), position)
  tokens.push({ type: 'end', text: '', at: source.length })
  return tokens
}

type StripOptions = { readonly sign: string | undefined; readonly keepIndent: boolean; readonly lineStarting: boolean }

/** The text before a tag: `-` removes all white space at its end; a tag that is first on its line removes its indentation. */
function strip(text: string, { sign, keepIndent, lineStarting }: StripOptions): string {
  if (sign === '-') return trimText(text, { end: true })
  if (sign === '+' || keepIndent) return text
  const lineAt = text.lastIndexOf('\n') + 1
  const alone = (lineAt > 0 || lineStarting) && trimText(text.slice(lineAt), { start: true }) === ''
  return alone ? text.slice(0, lineAt) : text
}

type TagInput = {
  readonly source: string
  readonly tokens: Token[]
  readonly from: number
  readonly end: RegExp
  readonly endType: 'variable-end' | 'block-end'
}

/** Reads one tag; returns the offset after it. */
function tokenizeTag({ source, tokens, from, end, endType }: TagInput): number {
  const open: string[] = []
  let at = from
  while (at < source.length) {
    // Inside brackets `}}` closes two dictionaries, not the tag.
    const ending = open.length === 0 ? match(end, source, at) : undefined
    if (ending !== undefined) {
      tokens.push({ type: endType, text: '', at })
      return at + ending.length
    }
    const space = match(pattern.space, source, at)
    if (space !== undefined) {
      at += space.length
      continue
    }
    const token = readToken(source, at)
    if (token.type === 'operator') balance(open, token.text, source, at)
    tokens.push(token)
    at += token.text.length
  }
  return failAt(source, from, 'the tag is not closed')
}

function readToken(source: string, at: number): Token {
  const decimal = match(pattern.float, source, at)
  if (decimal !== undefined) return { type: 'float', text: decimal, value: float(Number(decimal.replaceAll('_', ''))), at }
  const whole = match(pattern.integer, source, at)
  if (whole !== undefined) return { type: 'integer', text: whole, value: Number(whole.replaceAll('_', '')), at }
  const name = match(pattern.name, source, at)
  if (name !== undefined) return { type: 'name', text: name, at }
  const string = match(pattern.string, source, at)
  if (string !== undefined) return { type: 'string', text: string, value: wellFormed(unescapeText(string.slice(1, -1))), at }
  const operator = match(pattern.operator, source, at)
  if (operator !== undefined) return { type: 'operator', text: operator, at }
  return failAt(source, at, `unexpected char '${source.slice(at, at + 1)}'`)
}

const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

function balance(open: string[], operator: string, source: string, at: number): void {
  const wanted = closing[operator]
  if (wanted !== undefined) open.push(wanted)
  else if (operator === ')' || operator === ']' || operator === '}') {
    if (open.pop() !== operator) failAt(source, at, `unexpected '${operator}'`)
  }
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
}

/** Resolves Python's escape sequences; unknown ones stay as written. */
function unescapeText(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\(?:([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([\s\S]))/g, (...groups) => {
    const [whole, octal, two, four, eight, other] = groups as (string | undefined)[]
    const hexadecimal = two ?? four ?? eight
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
    if (hexadecimal !== undefined) return String.fromCodePoint(Number.parseInt(hexadecimal, 16))
    return escapes[other ?? ''] ?? whole ?? ''
  })
}

function match(sticky: RegExp, source: string, at: number): string | undefined {
  sticky.lastIndex = at
  return sticky.exec(source)?.[0]
}

function find(global: RegExp, source: string, from: number): RegExpExecArray | undefined {
  global.lastIndex = from
  return global.exec(source) ?? undefined
}

function endOf(found: RegExpExecArray | undefined): number | undefined {
  return found === undefined ? undefined : found.index + found[0].length
}

/** The line of a token's offset, counted from 1. `source` may still have its original line ends. */
export function lineOf(source: string, at: number): number {
  return source.replace(/\r\n?/g, '\n').slice(0, at).split('\n').length
}

/** Throws a syntax error at a token's offset. */
export function failAt(source: string, at: number, message: string): never {
  const line = lineOf(source, at)
  throw new JinjaError('syntax', `${message} (line ${line})`, { line })
}
