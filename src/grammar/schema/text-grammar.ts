import { type Automaton, anyText, both, hasNoText, isDeterministic, lengthsOf, textsOfLength, trim } from '../regex/automaton.ts'
import { automatonGrammar } from '../regex/automaton-grammar.ts'
import { directExpression, regexLengths } from '../regex/regex-grammar.ts'
import { type Expression, literal, never, sequence } from '../rules/expression.ts'
import { gbnfKeyword, gbnfText } from '../rules/gbnf-text.ts'
import { unlessTooLarge } from '../rules/grammar-error.ts'
import type { AutomatonLimit } from '../rules/limits.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { Facets, Gap } from './facets.ts'
import { formatRule } from './formats.ts'
import { anyString, stringChar, stringCharOf } from './json-text.ts'
import { effortPerState, type Patterns, type WrittenText } from './patterns.ts'

type Condition = { readonly source: string; readonly gap: Gap }

/** The JSON strings that satisfy the facets, and the gaps. */
export function textGrammar(book: RuleBook, text: Facets['text'], patterns: Patterns): WrittenText {
  const { patterns: sources, formats, grammars } = text
  if (sources.length + formats.length + grammars.length === 0) return { expression: plainText(book, text), gaps: [] }
  return patterns.writeOnce('json', text, (numbered) => {
    const { expression, gaps } = conditionalText(book, numbered, patterns)
    return { expression: book.shared(text.formats[0]?.name ?? 'text', expression), gaps }
  })
}

function conditionalText(book: RuleBook, text: Facets['text'], patterns: Patterns): WrittenText {
  const grammar = soleGrammar(text)
  if (grammar !== undefined) {
    return { expression: sequence(literal('"'), gbnfText(book, grammar, stringCharOf), literal('"')), gaps: [] }
  }
  const direct = directText(book, text, patterns)
  if (direct !== undefined) return { expression: direct, gaps: [] }
  const { automaton, gaps } = textAutomaton(text, patterns, book.automatonLimit)
  book.spend(automaton.length * effortPerState)
  return { expression: automaton === anyText ? plainText(book, text) : writeText(book, automaton, 'text'), gaps }
}

function plainText(book: RuleBook, text: Facets['text']): Expression {
  if (text.min === 0 && text.max === undefined) return anyString(book)
  return sequence(literal('"'), book.repeat(stringChar(book), text.min, text.max), literal('"'))
}

/** The grammar of a text, if that is its only condition: others cannot be combined with it. */
export function soleGrammar({ patterns, formats, grammars, min, max }: Facets['text']): string | undefined {
  const [first, ...others] = grammars
  const isSole = patterns.length + formats.length + others.length === 0 && min === 0 && max === undefined
  return isSole ? first?.source : undefined
}

/** The JSON strings whose content the automaton accepts. */
export function writeText(book: RuleBook, automaton: Automaton, hint: string): Expression {
  if (hasNoText(automaton)) return never
  const body = automatonGrammar(book, automaton, { hint, spell: stringCharOf, end: literal('"') })
  return sequence(literal('"'), body)
}

/** The string contents that satisfy patterns, formats and, where there are any, lengths. Lengths alone make no states. */
export function textAutomaton(
  text: Facets['text'],
  patterns: Patterns,
  limit: AutomatonLimit,
): { readonly automaton: Automaton; readonly gaps: readonly Gap[] } {
  const { conditions, unknown } = conditionsOf(text)
  const gaps = [...unknown]
  let automaton: Automaton = anyText
  for (const { source, gap } of conditions) {
    const found = patterns.find(source)
    const joined = found === undefined ? undefined : unlessTooLarge(() => trim(both(automaton, found, limit)))
    if (joined === undefined) gaps.push(gap)
    else automaton = joined
  }
  if (automaton === anyText) return { automaton, gaps }
  const lengths = lengthsOf(automaton)
  const isShort = lengths.min < text.min
  const isLong = text.max !== undefined && (lengths.max === undefined || lengths.max > text.max)
  if (!isShort && !isLong) return { automaton, gaps }
  const bounded = unlessTooLarge(() => trim(both(automaton, textsOfLength(text.min, text.max, limit), limit)))
  if (bounded !== undefined) return { automaton: bounded, gaps }
  const path = conditions[0]?.gap.path ?? []
  const keywords = [...(isShort ? ['minLength'] : []), ...(isLong ? ['maxLength'] : [])]
  return { automaton, gaps: [...gaps, ...keywords.map((keyword): Gap => ({ keyword, path, kind: 'string' }))] }
}

/** The direct form of a single pattern all of whose texts have an allowed length. */
function directText(book: RuleBook, text: Facets['text'], patterns: Patterns): Expression | undefined {
  const { conditions, unknown } = conditionsOf(text)
  const [condition] = conditions
  if (condition === undefined || conditions.length > 1 || unknown.length > 0) return undefined
  const regex = patterns.parse(condition.source)
  if (regex === undefined) return undefined
  const { min, max } = regexLengths(regex)
  if (min < text.min || max > (text.max ?? Number.POSITIVE_INFINITY)) return undefined
  // A caller's pattern may leave an engine many ways to read the same text.
  const automaton = condition.gap.keyword === 'pattern' ? patterns.find(condition.source) : undefined
  if (automaton !== undefined && !isDeterministic(automaton)) return undefined
  const body = directExpression(book, regex, stringCharOf)
  return body === undefined ? undefined : sequence(literal('"'), body, literal('"'))
}

/** The conditions on a string as patterns; `unknown` are formats and grammars, which have none. */
function conditionsOf({ patterns, formats, grammars }: Facets['text']): {
  conditions: readonly Condition[]
  unknown: readonly Gap[]
} {
  const conditions: Condition[] = patterns.map(({ source, path }) => ({
    source,
    gap: { keyword: 'pattern', path, kind: 'string' },
  }))
  const unknown = grammars.map(({ path }): Gap => ({ keyword: gbnfKeyword, path, kind: 'string' }))
  for (const { name, path } of formats) {
    const gap: Gap = { keyword: 'format', path, kind: 'string' }
    const format = formatRule(name)
    if (format === undefined) unknown.push(gap)
    else if (format.type === 'pattern') conditions.push({ source: format.source, gap })
  }
  const distinct = new Map(conditions.map((condition) => [condition.source, condition]))
  return { conditions: [...distinct.values()], unknown }
}
