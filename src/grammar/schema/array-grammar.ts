import { choice, type Expression, empty, isNever, literal, never, optional, sequence } from '../rules/expression.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import type { Facets } from './facets.ts'
import { comma } from './json-text.ts'
import type { Schema } from './schema-document.ts'

/** Compiles a member from all schemas that apply to it. */
export type CompilePart = (schemas: readonly Schema[], hint: string) => Expression

const effortPerAttempt = 20

/** Positions in an array whose items must also satisfy the schema of a `contains`. */
type Slot = { readonly schema: Schema; readonly from: number; readonly to: number }

/**
 * The arrays that satisfy the facets. After a tuple, more items are written only if the schema describes or requires them. The
 * items that `contains` requires come first; where that is impossible, after the tuple, one after the other, or at the last
 * position inside it that allows all of them.
 */
export function arrayGrammar(book: RuleBook, array: Facets['array'], compile: CompilePart): Expression {
  const tupleLength = Math.max(0, ...array.layers.map((layer) => layer.prefix.length))
  const starts = [
    0,
    ...(array.contains.length === 0 ? [] : Array.from({ length: tupleLength }, (_, index) => tupleLength - index)),
  ]
  for (const start of starts) {
    for (const isShared of array.contains.length > 1 ? [true, false] : [true]) {
      // Most arrays need only the first attempt, which is free.
      if (start > 0 || !isShared) book.spend(tupleLength + effortPerAttempt)
      const written = arrayWithSlots(book, array, { slots: slotsOf(array.contains, start, isShared), tupleLength, compile })
      if (!isNever(written)) return written
    }
  }
  return never
}

/** The slots of `contains`: all from the same position, or one after the other. */
function slotsOf(contains: Facets['array']['contains'], start: number, isShared: boolean): readonly Slot[] {
  let next = start
  return contains.map(({ schema, min }) => {
    const from = isShared ? start : next
    next = from + min
    return { schema, from, to: next }
  })
}

type ArrayParts = { readonly slots: readonly Slot[]; readonly tupleLength: number; readonly compile: CompilePart }

function arrayWithSlots(book: RuleBook, array: Facets['array'], { slots, tupleLength, compile }: ArrayParts): Expression {
  const { layers, min } = array
  const wanted = Math.max(0, ...slots.map(({ to }) => to))
  const partsAt = (index: number): readonly Schema[] => [
    ...layers.flatMap(({ prefix, rest }): readonly Schema[] => {
      const own = prefix[index] ?? rest
      return own === undefined ? [] : [own]
    }),
    ...slots.flatMap(({ schema, from, to }) => (index >= from && index < to ? [schema] : [])),
  ]
  const fixed = Math.max(tupleLength, wanted)
  const max = Math.min(array.max ?? Number.POSITIVE_INFINITY, limitOf(array, fixed))
  const least = Math.max(min, wanted)
  if (max < least) return never
  if (fixed > book.limits.alternatives) return never
  const heads = Array.from({ length: Math.min(fixed, max) }, (_, index) => compile(partsAt(index), `item-${index}`))
  const items = max > fixed ? compile(partsAt(fixed), 'item') : never
  const separator = comma(book)

  /** The rest after `count` items. */
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
