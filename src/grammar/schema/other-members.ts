import { type Automaton, anyText, both, except, hasNoText, textsAmong, textsOfLength, trim } from '../regex/automaton.ts'
import { choice, type Expression, never, sequence } from '../rules/expression.ts'
import { isUnsupported } from '../rules/grammar-error.ts'
import type { AutomatonLimit } from '../rules/limits.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { CompilePart } from './array-grammar.ts'
import type { Expand } from './expand.ts'
import { type Facets, type Gap, type PatternSchema, writesOnlyDeclared } from './facets.ts'
import { anyName, colon } from './json-text.ts'
import type { Patterns } from './patterns.ts'
import type { Schema } from './schema-document.ts'
import { textAutomaton, writeText } from './text-grammar.ts'

/** More patterns have too many combinations. */
const maxPatterns = 4

type Options = {
  readonly compile: CompilePart
  readonly patterns: Patterns
  readonly expand: Expand
  readonly isName: (name: string, schema: Schema) => boolean
  readonly declared: readonly string[]
}

/**
 * A member whose name the schema does not declare. Names are split by the patterns that they match, so that all schemas that
 * apply to a name do. Names that cannot be split are not written, which is narrower than the schema.
 */
export function otherMembers(
  book: RuleBook,
  object: Facets['object'],
  options: Options,
): { readonly expression: Expression; readonly gaps: readonly Gap[] } {
  if (writesOnlyDeclared(object) || isClosed(object)) return { expression: never, gaps: [] }
  try {
    return splitByPattern(book, object, options)
  } catch (error) {
    // Too many names or patterns for an automaton: only declared members are written.
    if (isUnsupported(error) && options.declared.length > 0) {
      return { expression: never, gaps: [] }
    }
    throw error
  }
}

/** A quick check: most objects of tools are closed and have no patterns. */
function isClosed({ layers }: Facets['object']): boolean {
  return layers.every(({ patterns }) => patterns.length === 0) && layers.some(({ additional }) => additional === false)
}

function splitByPattern(
  book: RuleBook,
  object: Facets['object'],
  options: Options,
): { expression: Expression; gaps: readonly Gap[] } {
  const patterns = object.layers.flatMap((layer) => layer.patterns)
  const known = patterns.map(({ source }) => options.patterns.find(source))
  if (known.includes(undefined) || patterns.length > maxPatterns) return { expression: never, gaps: [] }
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

/** Names that match no pattern are written if the schema covers them, or has no patterns. */
function writesUnmatched(object: Facets['object'], patterns: readonly PatternSchema[]): boolean {
  const isCovered = object.layers.some((layer) => layer.additional !== undefined)
  return isCovered || patterns.length === 0
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
    const branches = expand([schema]).filter((branch) => branch.kinds.has('string'))
    const [branch] = branches
    const values = branches.flatMap((each) => each.values ?? [])
    if (branches.length > 0 && branches.every((each) => each.values !== undefined)) {
      const texts = values.filter((value) => typeof value === 'string' && isName(value, schema)).map(String)
      automaton = trim(both(automaton, textsAmong(texts, limit), limit))
    } else if (branches.length > 1) {
      gaps.push({ keyword: 'propertyNames', path, kind: 'object' })
    } else if (branch === undefined) {
      automaton = textsAmong([], limit)
    } else {
      automaton = trim(both(automaton, textsWithLength(branch.text, { patterns, gaps, limit }), limit))
      gaps.push(...branch.gaps.filter((gap) => gap.kind === undefined || gap.kind === 'string'))
    }
  }
  return { automaton, gaps }
}

/** The strings of the facets. Lengths become states here, also without a pattern. */
function textsWithLength(
  text: Facets['text'],
  { patterns, gaps, limit }: { patterns: Patterns; gaps: Gap[]; limit: AutomatonLimit },
): Automaton {
  const made = textAutomaton(text, patterns, limit)
  gaps.push(...made.gaps)
  const isBounded = text.min > 0 || text.max !== undefined
  return made.automaton === anyText && isBounded ? textsOfLength(text.min, text.max, limit) : made.automaton
}
