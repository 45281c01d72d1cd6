import { choice, type Expression, empty, literal, never, optional, sequence, sequenceOf } from '../rules/expression.ts'
import { tooLarge } from '../rules/grammar-error.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { CompilePart } from './array-grammar.ts'
import type { Expand } from './expand.ts'
import type { Facets, Gap } from './facets.ts'
import { comma, memberKey } from './json-text.ts'
import { otherMembers } from './other-members.ts'
import type { Patterns } from './patterns.ts'
import type { Schema, SchemaPath } from './schema-document.ts'

type Member = { readonly pair: Expression; readonly required: boolean }
type Members = {
  readonly declared: readonly Member[]
  /** An undeclared member; `never` if none is allowed. */
  readonly other: Expression
  readonly min: number
  readonly max: number
}

type ObjectOptions = {
  readonly compile: CompilePart
  readonly patterns: Patterns
  readonly expand: Expand
  /** Whether a name satisfies the schemas of `propertyNames`. */
  readonly isName: (name: string, schema: Schema) => boolean
}

/** The objects that satisfy the facets, and the gaps. */
export function objectGrammar(
  book: RuleBook,
  object: Facets['object'],
  options: ObjectOptions,
): { readonly expression: Expression; readonly gaps: readonly Gap[] } {
  const gaps: Gap[] = []
  const names = [...new Set([...object.layers.flatMap((layer) => [...layer.properties.keys()]), ...object.required])]
  if (names.length > book.limits.members) throw tooLarge(`more than ${book.limits.members} members of one object`)
  const requiredNames = new Set(object.required)
  const declared = names.flatMap((name): Member[] => {
    const required = requiredNames.has(name)
    const parts = partsOf(object, name, options.patterns, gaps)
    const isPossible = object.names.every(({ schema }) => options.isName(name, schema))
    if (!isPossible || parts.includes(false)) return required ? [{ pair: never, required }] : []
    return [{ pair: sequence(memberKey(book, name), options.compile(parts, name)), required }]
  })
  const others = otherMembers(book, object, { ...options, declared: names })
  gaps.push(...others.gaps)
  const least = declared.filter((member) => member.required).length
  // Members of the same name count once, and nothing keeps undeclared names distinct.
  if (others.expression !== never && object.min > least + 1)
    gaps.push({ keyword: 'minProperties', path: object.minPath ?? [], kind: 'object' })
  const members: Members = {
    declared,
    other: others.expression,
    min: object.min <= least ? 0 : object.min,
    max: object.max ?? Number.POSITIVE_INFINITY,
  }
  return { expression: sequence(literal('{'), inDeclaredOrder(book, members), literal('}')), gaps }
}

/** All schemas that apply to a member of this name. */
function partsOf(object: Facets['object'], name: string, patterns: Patterns, gaps: Gap[]): readonly Schema[] {
  return object.layers.flatMap((layer) => {
    const own = layer.properties.get(name)
    const matched = layer.patterns.flatMap(({ source, schema, path }): readonly Schema[] => {
      const matches = patterns.matches(source, name)
      if (matches === undefined) gaps.push(patternGap(path))
      return matches === true ? [schema] : []
    })
    const parts = [...(own === undefined ? [] : [own]), ...matched]
    return parts.length > 0 || layer.additional === undefined ? parts : [layer.additional]
  })
}

function patternGap(path: SchemaPath): Gap {
  return { keyword: 'patternProperties', path, kind: 'object' }
}

/** Members in the order of the schema, then any others. */
function inDeclaredOrder(book: RuleBook, { declared, other, min, max }: Members): Expression {
  const separator = comma(book)
  const needsCount = min > 0 || max < declared.length || (other !== never && Number.isFinite(max))
  const enough = needsCount ? Math.max(1, min, Number.isFinite(max) ? max + 1 : 0) : 1
  const known = new Map<string, Expression>()
  if (enough > 1) book.spend(declared.length * Math.min(enough, declared.length) * 10)

  /** The members from `index` on, after `written` ones; counts that make no difference are one. */
  const from = (index: number, written: number): Expression => {
    const count = Math.min(written, enough)
    if (count > max) return never
    const key = `${index} ${count}`
    const found = known.get(key)
    if (found !== undefined) return found
    const made = make(index, count)
    // What follows an optional member is reached twice, so it is a rule.
    const isMetAgain = declared[index - 1]?.required === false && index < declared.length
    const expression = isMetAgain ? book.shared('rest', made) : made
    known.set(key, expression)
    return expression
  }
  const make = (index: number, count: number): Expression => {
    const member = declared[index]
    if (member === undefined) return othersAfter(count)
    if (member.required) return requiredFrom(index, count)
    const written = count > 0 ? sequence(separator, member.pair) : member.pair
    if (count === enough && !needsCount) return sequence(optional(written), from(index + 1, count))
    return choice(sequence(written, from(index + 1, count + 1)), from(index + 1, count))
  }
  /** Required members up to the next optional one in one loop: a thousand would exhaust the stack. */
  const requiredFrom = (start: number, written: number): Expression => {
    const parts: Expression[] = []
    let [index, count] = [start, written]
    for (let member = declared[index]; member?.required === true; member = declared[++index]) {
      if (count > 0) parts.push(separator)
      parts.push(member.pair)
      count = Math.min(count + 1, enough)
      if (count > max) return never
    }
    parts.push(from(index, count))
    return sequenceOf(parts)
  }
  const othersAfter = (count: number): Expression => {
    const [least, most] = [Math.max(0, min - count), Number.isFinite(max) ? max - count : undefined]
    if (other === never || most === 0) return least === 0 ? empty : never
    const next = sequence(separator, other)
    if (count > 0) return book.repeat(next, least, most)
    const all = sequence(other, book.repeat(next, Math.max(0, least - 1), most === undefined ? undefined : most - 1))
    return least === 0 ? optional(all) : all
  }
  return from(0, 0)
}
