import type { CharSet } from '../rules/char-set.ts'
import { chars, choice, type Expression, sequence } from '../rules/expression.ts'
import { tooLarge } from '../rules/grammar-error.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { Automaton } from './automaton.ts'
import { automatonGrammar } from './automaton-grammar.ts'
import { wholeRegex, wholeTextAutomaton, wholeTextDeterministic } from './regex-automaton.ts'
import type { Regex } from './regex-syntax.ts'

/** Work beyond this is better spent on the pattern as it is written. */
const deterministicEffort = 700_000

/**
 * The texts that a whole pattern matches, raw and not as JSON. An ambiguous pattern becomes a deterministic automaton, so that an engine
 * follows one way. Throws when it is too large.
 */
export function regexExpression(book: RuleBook, pattern: Regex, hint: string): Expression {
  const regex = wholeRegex(pattern)
  const direct = () => directExpression(book, regex, chars)
  const { states } = book.automatonLimit
  const write = (automaton: Automaton) => automatonGrammar(book, automaton, { hint, spell: chars })
  const automaton = wholeTextDeterministic(regex, { states, spend: budget(book) })
  if (automaton !== undefined) return (isPlain(regex) ? direct() : undefined) ?? write(automaton)
  return direct() ?? write(wholeTextAutomaton(regex, book.automatonLimit))
}

/** Counts effort up to a limit of its own, and passes it on. */
function budget(book: RuleBook): (effort: number) => void {
  let left = deterministicEffort
  return (effort) => {
    left -= effort
    if (left < 0) throw tooLarge('too much work for one pattern')
    book.spend(effort)
  }
}

/** Characters, some of them repeated a fixed number of times: the operators of GBNF are shorter, and as deterministic. */
function isPlain(regex: Regex): boolean {
  if (regex.type === 'sequence') return regex.parts.every(isPlain)
  if (regex.type === 'repeat') return regex.part.type === 'chars' && regex.min === regex.max
  return regex.type === 'chars' || regex.type === 'start' || regex.type === 'end'
}

/**
 * A pattern from `^` to `$` with the same operators in GBNF, which is small and fast. Undefined for one that needs an
 * automaton: it is not anchored, looks ahead, or repeats what may be empty, which GBNF cannot express.
 */
export function directExpression(book: RuleBook, regex: Regex, spell: (set: CharSet) => Expression): Expression | undefined {
  const inner = betweenAnchors(regex)
  return inner === undefined ? undefined : translate(inner)

  function translate(part: Regex): Expression {
    switch (part.type) {
      case 'chars':
        return part.set.length > 4 ? book.shared('chars', spell(part.set)) : spell(part.set)
      case 'sequence':
        return sequence(...part.parts.map(translate))
      case 'choice':
        return choice(...part.options.map(translate))
      case 'repeat':
        return book.repeat(translate(part.part), part.min, part.max)
      case 'start':
      case 'end':
      case 'lookahead':
        return sequence()
    }
  }
}

/** The lengths of the texts that a pattern from `^` to `$` matches. */
export function regexLengths(regex: Regex): { readonly min: number; readonly max: number } {
  switch (regex.type) {
    case 'chars':
      return { min: 1, max: 1 }
    case 'start':
    case 'end':
    case 'lookahead':
      return { min: 0, max: 0 }
    case 'sequence': {
      const parts = regex.parts.map(regexLengths)
      return { min: parts.reduce((sum, { min }) => sum + min, 0), max: parts.reduce((sum, { max }) => sum + max, 0) }
    }
    case 'choice': {
      const options = regex.options.map(regexLengths)
      return { min: Math.min(...options.map(({ min }) => min)), max: Math.max(...options.map(({ max }) => max)) }
    }
    case 'repeat': {
      const { min, max } = regexLengths(regex.part)
      const times = regex.max ?? Number.POSITIVE_INFINITY
      return { min: min * regex.min, max: max === 0 || times === 0 ? 0 : max * times }
    }
  }
}

function betweenAnchors(regex: Regex): Regex | undefined {
  if (regex.type !== 'sequence') return undefined
  const { parts } = regex
  if (parts.length < 2 || parts[0]?.type !== 'start' || parts.at(-1)?.type !== 'end') return undefined
  const inner: Regex = { type: 'sequence', parts: parts.slice(1, -1) }
  return isDirect(inner) ? inner : undefined
}

function isDirect(regex: Regex): boolean {
  switch (regex.type) {
    case 'chars':
      return true
    case 'sequence':
      return regex.parts.every(isDirect)
    case 'choice':
      return regex.options.every(isDirect)
    case 'repeat':
      return isDirect(regex.part) && (regex.max === 1 || regexLengths(regex.part).min > 0)
    case 'start':
    case 'end':
    case 'lookahead':
      return false
  }
}
