import { type Automaton, anyText, both, hasNoText, textsOfLength, trim } from './automaton.ts'
import { automatonGrammar } from './automaton-grammar.ts'
import { charSet, invert } from './char-set.ts'
import { chars, type Expression, never } from './expression.ts'
import type { Facets } from './facets.ts'
import { unlessTooLarge } from './grammar-error.ts'
import { effortPerState, type Patterns, type WrittenText } from './patterns.ts'
import type { RuleBook } from './rule-book.ts'
import { textAutomaton } from './text-grammar.ts'

/**
 * The texts that satisfy the facets, as they are: without quotes and escapes, and without `mark` in them, which ends them.
 * Where texts with a part of the mark in them would be too many to write down, there are none with its first character.
 */
export function rawText(book: RuleBook, text: Facets['text'], { mark, patterns }: RawOptions): WrittenText {
  return patterns.writeOnce(`raw ${mark}`, text, (numbered) => writeRaw(book, numbered, { mark, patterns }))
}

type RawOptions = { readonly mark: string; readonly patterns: Patterns }

function writeRaw(book: RuleBook, text: Facets['text'], { mark, patterns }: RawOptions): WrittenText {
  const limit = book.automatonLimit
  const { automaton, gaps } = textAutomaton(text, patterns, limit)
  const { min, max } = text
  const isBounded = min > 0 || max !== undefined
  // What tools have most of is text without conditions: it is written once.
  if (automaton === anyText && !isBounded) {
    return { expression: book.once(`raw ${mark}`, () => write(book, withoutMark(mark)), 'raw'), gaps }
  }
  if (automaton === anyText) {
    const bounded = unlessTooLarge(() => both(withoutMark(mark), textsOfLength(min, max, limit), limit))
    return { expression: bounded ? write(book, bounded) : book.repeat(chars(withoutFirst(mark)), min, max), gaps }
  }
  const exact = unlessTooLarge(() => both(withoutMark(mark), automaton, limit))
  const narrow: Automaton = [{ accepting: true, edges: [{ set: withoutFirst(mark), to: 0 }] }]
  return { expression: write(book, exact ?? both(narrow, automaton, limit)), gaps }
}

function write(book: RuleBook, automaton: Automaton): Expression {
  const states = trim(automaton)
  if (hasNoText(states)) return never
  book.spend(states.length * effortPerState)
  return automatonGrammar(book, states, { hint: 'raw', spell: chars })
}

/** Each state is how much of the mark the text ends in. */
function withoutMark(mark: string): Automaton {
  const letters = [...mark]
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

function withoutFirst(mark: string): ReturnType<typeof charSet> {
  const code = codeOf(mark)
  return invert(charSet([code, code]))
}

/** How much of the mark a text ends in that ended in `state` letters of it, and got one more. */
function nextState(mark: readonly string[], state: number, letter: string): number {
  const seen = [...mark.slice(0, state), letter]
  for (let length = seen.length; length > 0; length--) {
    if (seen.slice(-length).every((each, index) => each === mark[index])) return length
  }
  return 0
}

function codeOf(text: string): number {
  return text.codePointAt(0) ?? 0
}
