import { choice, type Expression, empty, literal, never, optional, sequence } from './expression.ts'
import type { Facets } from './facets.ts'
import { comma } from './json-text.ts'
import type { RuleBook } from './rule-book.ts'
import type { Schema } from './schema-document.ts'

/** How a member's grammar is made: from all the schemas that speak of it. */
export type CompilePart = (schemas: readonly Schema[], hint: string) => Expression

/**
 * The arrays that satisfy the facets. After a tuple, more items are written only when the schema speaks of them or asks for
 * them. What `contains` asks for comes first.
 */
export function arrayGrammar(book: RuleBook, array: Facets['array'], compile: CompilePart): Expression {
  const { layers, min } = array
  const tupleLength = Math.max(0, ...layers.map((layer) => layer.prefix.length))
  const wanted = Math.max(0, ...array.contains.map((each) => each.min))
  const partsAt = (index: number): readonly Schema[] => [
    ...layers.flatMap(({ prefix, rest }): readonly Schema[] => {
      const own = prefix[index] ?? rest
      return own === undefined ? [] : [own]
    }),
    ...array.contains.flatMap((each) => (index < each.min ? [each.schema] : [])),
  ]
  const fixed = Math.max(tupleLength, wanted)
  const max = Math.min(array.max ?? Number.POSITIVE_INFINITY, limitOf(array, fixed))
  const least = Math.max(min, wanted)
  if (max < least) return never
  if (fixed > book.limits.alternatives) return never
  const heads = Array.from({ length: Math.min(fixed, max) }, (_, index) => compile(partsAt(index), `item-${index}`))
  const items = max > fixed ? compile(partsAt(fixed), 'item') : never
  const separator = comma(book)

  /** What comes after `count` items. */
  const after = (count: number): Expression => {
    const head = heads[count]
    if (head !== undefined) {
      const rest = sequence(...(count === 0 ? [] : [separator]), head, after(count + 1))
      return count < least ? rest : choice(rest, empty)
    }
    const [from, to] = [Math.max(0, least - count), Number.isFinite(max) ? max - count : undefined]
    if (to === 0) return empty
    const next = sequence(separator, items)
    if (count > 0) return book.repeat(next, from, to)
    const all = sequence(items, book.repeat(next, Math.max(0, from - 1), to === undefined ? undefined : to - 1))
    return from === 0 ? optional(all) : all
  }
  return sequence(literal('['), after(0), literal(']'))
}

function limitOf({ layers, min }: Facets['array'], fixed: number): number {
  const isOpen = layers.length === 0 || layers.some((layer) => layer.rest !== undefined) || min > fixed
  return isOpen ? Number.POSITIVE_INFINITY : Math.max(fixed, min)
}
