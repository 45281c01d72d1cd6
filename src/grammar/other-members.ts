import type { CompilePart } from './array-grammar.ts'
import { type Automaton, anyText, both, except, hasNoText, textsAmong, textsOfLength, trim } from './automaton.ts'
import type { Expand } from './expand.ts'
import { choice, type Expression, never, sequence } from './expression.ts'
import { type Facets, type Gap, type PatternSchema, writesOnlyDeclared } from './facets.ts'
import { isUnsupported } from './grammar-error.ts'
import { anyName, colon } from './json-text.ts'
import type { AutomatonLimit } from './limits.ts'
import type { Patterns } from './patterns.ts'
import type { RuleBook } from './rule-book.ts'
import type { Schema } from './schema-document.ts'
import { textAutomaton, writeText } from './text-grammar.ts'

/** More patterns than this have too many combinations. */
const mostPatterns = 4

type Options = {
  readonly compile: CompilePart
  readonly patterns: Patterns
  readonly expand: Expand
  readonly isName: (name: string, schema: Schema) => boolean
  readonly declared: readonly string[]
}

/**
 * A member whose name the schema does not list: names are sorted by the patterns that they match, so that each gets all that is
 * said of it. Names that cannot be sorted are not written; that is narrower than the schema, and still within it.
 */
export function otherMembers(
  book: RuleBook,
  object: Facets['object'],
  options: Options,
): { readonly expression: Expression; readonly gaps: readonly Gap[] } {
  if (writesOnlyDeclared(object) || isClosed(object)) return { expression: never, gaps: [] }
  try {
    return sorted(book, object, options)
  } catch (error) {
    // Too many names or patterns for an automaton: then there are no members but the declared ones.
    if (isUnsupported(error) && options.declared.length > 0) {
      return { expression: never, gaps: [] }
    }
    throw error
  }
}

/** Most objects of tools are: without patterns, it is seen at once. */
function isClosed({ layers }: Facets['object']): boolean {
  return layers.every(({ patterns }) => patterns.length === 0) && layers.some(({ additional }) => additional === false)
}

function sorted(book: RuleBook, object: Facets['object'], options: Options): { expression: Expression; gaps: readonly Gap[] } {
  const patterns = object.layers.flatMap((layer) => layer.patterns)
  const known = patterns.map(({ source }) => options.patterns.find(source))
  if (known.includes(undefined) || patterns.length > mostPatterns) return { expression: never, gaps: [] }
  const possible = Array.from({ length: 2 ** patterns.length }, (_, set) => set).flatMap((set) => {
    const matched = patterns.filter((_, index) => (set & (1 << index)) !== 0)
    const parts = partsOf(object, matched)
    const isWritten = !parts.includes(false) && (matched.length > 0 || writesUnmatched(object, patterns))
    return isWritten ? [{ set, parts }] : []
  })
  if (possible.length === 0) return { expression: never, gaps: [] }

  const limit = book.automatonLimit
  const names = namesOf(object, options, limit)
  const { declared } = options
  const free = declared.length === 0 ? names.automaton : both(names.automaton, except(textsAmong(declared, limit), limit), limit)
  const alternatives = possible.map(({ set, parts }) => {
    const keys = known.reduce<Automaton>((sum, each, index) => {
      if (each === undefined) return sum
      return both(sum, (set & (1 << index)) === 0 ? except(each, limit) : each, limit)
    }, free)
    const texts = trim(keys)
    if (hasNoText(texts)) return never
    const key = keys === anyText ? anyName(book) : book.shared('key', writeText(book, texts, 'key'))
    return sequence(key, colon(book), options.compile(parts, 'value'))
  })
  return { expression: book.shared('member', choice(...alternatives)), gaps: names.gaps }
}

/** Names without a pattern are written when the schema speaks of them, or when it says nothing of names at all. */
function writesUnmatched(object: Facets['object'], patterns: readonly PatternSchema[]): boolean {
  const isSpokenOf = object.layers.some((layer) => layer.additional !== undefined)
  return isSpokenOf || patterns.length === 0
}

function partsOf(object: Facets['object'], matched: readonly PatternSchema[]): readonly Schema[] {
  return object.layers.flatMap((layer) => {
    const own = layer.patterns.filter((pattern) => matched.includes(pattern)).map(({ schema }) => schema)
    return own.length > 0 || layer.additional === undefined ? own : [layer.additional]
  })
}

/** The names that `propertyNames` allows. */
function namesOf(
  object: Facets['object'],
  { patterns, expand, isName }: Options,
  limit: AutomatonLimit,
): { automaton: Automaton; gaps: readonly Gap[] } {
  const gaps: Gap[] = []
  let automaton: Automaton = anyText
  for (const { schema, path } of object.names) {
    const ways = expand([schema]).filter((way) => way.kinds.has('string'))
    const [way] = ways
    const values = ways.flatMap((each) => each.values ?? [])
    if (ways.length > 0 && ways.every((each) => each.values !== undefined)) {
      const texts = values.filter((value) => typeof value === 'string' && isName(value, schema)).map(String)
      automaton = trim(both(automaton, textsAmong(texts, limit), limit))
    } else if (ways.length > 1) {
      gaps.push({ keyword: 'propertyNames', path, kind: 'object' })
    } else if (way === undefined) {
      automaton = textsAmong([], limit)
    } else {
      automaton = trim(both(automaton, textsWithLength(way.text, { patterns, gaps, limit }), limit))
      gaps.push(...way.gaps.filter((gap) => gap.kind === undefined || gap.kind === 'string'))
    }
  }
  return { automaton, gaps }
}

/** The texts of the facets; here lengths are states even when there is no pattern. */
function textsWithLength(
  text: Facets['text'],
  { patterns, gaps, limit }: { patterns: Patterns; gaps: Gap[]; limit: AutomatonLimit },
): Automaton {
  const made = textAutomaton(text, patterns, limit)
  gaps.push(...made.gaps)
  const isBounded = text.min > 0 || text.max !== undefined
  return made.automaton === anyText && isBounded ? textsOfLength(text.min, text.max, limit) : made.automaton
}
