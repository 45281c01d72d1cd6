import { type CharSet, soleChar } from './char-set.ts'

/** The right side of a grammar rule. `never` is a choice without options, `empty` a sequence without parts. */
export type Expression =
  | { readonly type: 'literal'; readonly text: string }
  /** One character. */
  | { readonly type: 'chars'; readonly set: CharSet }
  | { readonly type: 'rule'; readonly name: string }
  | { readonly type: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly type: 'choice'; readonly options: readonly Expression[] }
  /** `max` absent: no upper bound. */
  | { readonly type: 'repeat'; readonly part: Expression; readonly min: number; readonly max?: number }

export const empty: Expression = { type: 'sequence', parts: [] }
export const never: Expression = { type: 'choice', options: [] }

/** Exactly this text. */
export function literal(text: string): Expression {
  return text === '' ? empty : { type: 'literal', text }
}

export function chars(set: CharSet): Expression {
  const sole = soleChar(set)
  // No token has it.
  if (sole === '\0') return never
  if (sole !== undefined) return literal(sole)
  return set.length === 0 ? never : { type: 'chars', set }
}

export function rule(name: string): Expression {
  return { type: 'rule', name }
}

/** One after the other; adjacent literals become one. */
export function sequence(...parts: readonly Expression[]): Expression {
  return sequenceOf(parts)
}

/** `sequence` of a long list: spread arguments must fit on the stack. */
export function sequenceOf(parts: readonly Expression[]): Expression {
  const flat: Expression[] = []
  for (const part of parts) {
    if (part.type === 'sequence') for (const inner of part.parts) append(flat, inner)
    else if (isNever(part)) return never
    else append(flat, part)
  }
  const [only] = flat
  if (flat.length === 0) return empty
  return flat.length === 1 && only !== undefined ? only : { type: 'sequence', parts: flat }
}

function append(flat: Expression[], part: Expression): void {
  const last = flat[flat.length - 1]
  if (part.type === 'literal' && last?.type === 'literal') flat[flat.length - 1] = literal(last.text + part.text)
  else flat.push(part)
}

/** One of the options, without those that are `never`. */
export function choice(...options: readonly Expression[]): Expression {
  return choiceOf(options)
}

/** `choice` of a long list: spread arguments must fit on the stack. */
export function choiceOf(options: readonly Expression[]): Expression {
  const flat: Expression[] = []
  for (const option of options) {
    if (option.type !== 'choice') flat.push(option)
    else for (const inner of option.options) flat.push(inner)
  }
  const [only] = flat
  if (flat.length === 0) return never
  return flat.length === 1 && only !== undefined ? only : { type: 'choice', options: flat }
}

export function repeat(part: Expression, min: number, max?: number): Expression {
  if (max === 0 || isEmpty(part)) return empty
  if (max !== undefined && max < min) return never
  if (isNever(part)) return min === 0 ? empty : never
  if (min === 1 && max === 1) return part
  return max === undefined ? { type: 'repeat', part, min } : { type: 'repeat', part, min, max }
}

export function optional(part: Expression): Expression {
  return repeat(part, 0, 1)
}

export function isEmpty(expression: Expression): boolean {
  return expression.type === 'sequence' && expression.parts.length === 0
}

export function isNever(expression: Expression): boolean {
  return expression.type === 'choice' && expression.options.length === 0
}

/** The direct parts of an expression. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.type) {
    case 'literal':
    case 'chars':
    case 'rule':
      return []
    case 'sequence':
      return expression.parts
    case 'choice':
      return expression.options
    case 'repeat':
      return [expression.part]
  }
}

/** The expression in GBNF. */
export function render(expression: Expression): string {
  switch (expression.type) {
    case 'literal':
      return renderLiteral(expression.text)
    case 'chars':
      return renderSet(expression.set)
    case 'rule':
      return expression.name
    case 'sequence':
      return expression.parts.length === 0 ? '""' : joined(expression.parts, ' ', renderPart)
    case 'choice':
      return joined(expression.options, ' | ', render)
    case 'repeat':
      return `${renderAtom(expression.part)}${renderCount(expression.min, expression.max)}`
  }
}

/** Needs no escapes. */
const plainText = /^[ !#-[\]-~]*$/

/** A text as a GBNF literal, with its quotes. */
export function renderLiteral(text: string): string {
  if (plainText.test(text)) return `"${text}"`
  let inside = ''
  for (const char of text) {
    if (char === '"' || char === '\\') inside += `\\${char}`
    else inside += renderChar(char.codePointAt(0) ?? 0)
  }
  return `"${inside}"`
}

function joined(parts: readonly Expression[], separator: string, write: (part: Expression) => string): string {
  let text = ''
  let between = ''
  for (const part of parts) {
    text += between + write(part)
    between = separator
  }
  return text
}

function renderPart(part: Expression): string {
  return part.type === 'choice' ? `(${render(part)})` : render(part)
}

function renderAtom(part: Expression): string {
  return part.type === 'literal' || part.type === 'chars' || part.type === 'rule' ? render(part) : `(${render(part)})`
}

function renderCount(min: number, max: number | undefined): string {
  if (max === undefined) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  if (min === 0 && max === 1) return '?'
  return min === max ? `{${min}}` : `{${min},${max}}`
}

/** Never `[^…]` or `.`: in llama.cpp these match surrogates and numbers beyond Unicode, which no text contains. */
function renderSet(set: CharSet): string {
  return `[${renderRanges(set)}]`
}

function renderRanges(set: CharSet): string {
  return set
    .map(([first, last]) => {
      if (first === last) return renderClassChar(first)
      return `${renderClassChar(first)}${last === first + 1 ? '' : '-'}${renderClassChar(last)}`
    })
    .join('')
}

function renderClassChar(code: number): string {
  const char = String.fromCodePoint(code)
  if ('\\]['.includes(char) || char === '-') return `\\${char}`
  return char === '^' || char === '"' ? `\\x${code.toString(16)}` : renderChar(code)
}

/** Escapes all but printable ASCII, so that a grammar is safe to log and to send. */
function renderChar(code: number): string {
  if (code === 0x0a) return '\\n'
  if (code === 0x0d) return '\\r'
  if (code === 0x09) return '\\t'
  if (code >= 0x20 && code < 0x7f) return String.fromCodePoint(code)
  const hex = code.toString(16).toUpperCase()
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}
