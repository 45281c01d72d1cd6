import { type Automaton, anyText, both, hasNoText, textsOfLength, trim } from '../regex/automaton.ts'
import { automatonGrammar } from '../regex/automaton-grammar.ts'
import { charSet, invert } from '../rules/char-set.ts'
import { chars, type Expression, never } from '../rules/expression.ts'
import { gbnfText } from '../rules/gbnf-text.ts'
import { unlessTooLarge } from '../rules/grammar-error.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { Facets } from './facets.ts'
import { effortPerState, type Patterns, type WrittenText } from './patterns.ts'
import { soleGrammar, textAutomaton } from './text-grammar.ts'

/**
 * The strings that satisfy the facets, raw: without quotes and escapes, and without `delimiter`, which ends them. Where strings
 * with a part of the delimiter would make the grammar too large, they do not contain its first character either.
 */
export function rawText(book: RuleBook, text: Facets['text'], { delimiter, patterns }: RawOptions): WrittenText {
  return patterns.writeOnce(`raw ${delimiter}`, text, (numbered) => writeRaw(book, numbered, { delimiter, patterns }))
}

type RawOptions = { readonly delimiter: string; readonly patterns: Patterns }

function writeRaw(book: RuleBook, text: Facets['text'], { delimiter, patterns }: RawOptions): WrittenText {
  const grammar = soleGrammar(text)
  // A text with the delimiter would end there, and then seldom be one of the grammar's.
  if (grammar !== undefined) return { expression: gbnfText(book, grammar, chars), gaps: [] }
  const limit = book.automatonLimit
  const { automaton, gaps } = textAutomaton(text, patterns, limit)
  const { min, max } = text
  const isBounded = min > 0 || max !== undefined
  // Most parameters of tools are strings without conditions: they share one rule.
  if (automaton === anyText && !isBounded) {
    return { expression: book.once(`raw ${delimiter}`, () => write(book, withoutDelimiter(delimiter)), 'raw'), gaps }
  }
  if (automaton === anyText) {
    const bounded = unlessTooLarge(() => both(withoutDelimiter(delimiter), textsOfLength(min, max, limit), limit))
    return { expression: bounded ? write(book, bounded) : book.repeat(chars(withoutFirst(delimiter)), min, max), gaps }
  }
  const exact = unlessTooLarge(() => both(withoutDelimiter(delimiter), automaton, limit))
  const narrow: Automaton = [{ accepting: true, edges: [{ set: withoutFirst(delimiter), to: 0 }] }]
  return { expression: write(book, exact ?? both(narrow, automaton, limit)), gaps }
}

function write(book: RuleBook, automaton: Automaton): Expression {
  const states = trim(automaton)
  if (hasNoText(states)) return never
  book.spend(states.length * effortPerState)
  return automatonGrammar(book, states, { hint: 'raw', spell: chars })
}

/** A state is the length of the prefix of the delimiter that the text ends in. */
function withoutDelimiter(delimiter: string): Automaton {
  const letters = [...delimiter]
  const alphabet = [...new Set(letters)]
  const setOf = (among: readonly string[]) =>
    charSet(...among.map((letter): [number, number] => [codeOf(letter), codeOf(letter)]))
  return letters.map((_, state) => ({
    accepting: true,
    edges: [
      { set: invert(setOf(alphabet)), to: 0 },
      ...alphabet
        .map((letter) => ({ set: setOf([letter]), to: nextState(letters, state, letter) }))
        .filter(({ to }) => to < letters.length),
    ],
  }))
}

function withoutFirst(delimiter: string): ReturnType<typeof charSet> {
  const code = codeOf(delimiter)
  return invert(charSet([code, code]))
}

/** The state after one more letter. */
function nextState(delimiter: readonly string[], state: number, letter: string): number {
  const seen = [...delimiter.slice(0, state), letter]
  for (let length = seen.length; length > 0; length--) {
    if (seen.slice(-length).every((each, index) => each === delimiter[index])) return length
  }
  return 0
}

function codeOf(text: string): number {
  return text.codePointAt(0) ?? 0
}
