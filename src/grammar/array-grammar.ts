import { choice, type Expression, empty, isNever, literal, never, optional, sequence } from './expression.ts'
import type { Facets } from './facets.ts'
import { comma } from './json-text.ts'
import type { RuleBook } from './rule-book.ts'
import type { Schema } from './schema-document.ts'

/** How a member's grammar is made: from all the schemas that speak of it. */
export type CompilePart = (schemas: readonly Schema[], hint: string) => Expression

const effortPerTry = 20

type Place = { readonly schema: Schema; readonly from: number; readonly to: number }

/**
 * The arrays that satisfy the facets. After a tuple, more items are written only when the schema speaks of them or asks for
 * them. What `contains` asks for comes first; where nothing could stand there, behind the tuple, one after the other, or at
 * the first place inside of it that allows all.
 */
export function arrayGrammar(book: RuleBook, array: Facets['array'], compile: CompilePart): Expression {
  const tupleLength = Math.max(0, ...array.layers.map((layer) => layer.prefix.length))
  const starts = [
    0,
    ...(array.contains.length === 0 ? [] : Array.from({ length: tupleLength }, (_, index) => tupleLength - index)),
  ]
  for (const start of starts) {
    for (const isShared of array.contains.length > 1 ? [true, false] : [true]) {
      // The first try is all that most arrays need.
      if (start > 0 || !isShared) book.spend(tupleLength + effortPerTry)
      const written = placedGrammar(book, array, { places: placesOf(array.contains, start, isShared), tupleLength, compile })
      if (!isNever(written)) return written
    }
  }
  return never
}

/** Where the items stand that `contains` asks for: all from the same place, or one after the other. */
function placesOf(contains: Facets['array']['contains'], start: number, isShared: boolean): readonly Place[] {
  let next = start
  return contains.map(({ schema, min }) => {
    const from = isShared ? start : next
    next = from + min
    return { schema, from, to: next }
  })
}

type Placing = { readonly places: readonly Place[]; readonly tupleLength: number; readonly compile: CompilePart }

function placedGrammar(book: RuleBook, array: Facets['array'], { places, tupleLength, compile }: Placing): Expression {
  const { layers, min } = array
  const wanted = Math.max(0, ...places.map(({ to }) => to))
  const partsAt = (index: number): readonly Schema[] => [
    ...layers.flatMap(({ prefix, rest }): readonly Schema[] => {
      const own = prefix[index] ?? rest
      return own === undefined ? [] : [own]
    }),
    ...places.flatMap(({ schema, from, to }) => (index >= from && index < to ? [schema] : [])),
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
