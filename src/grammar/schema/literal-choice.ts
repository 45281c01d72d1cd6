import { choiceOf, type Expression, empty, literal, sequence } from '../rules/expression.ts'
import type { RuleBook } from '../rules/rule-book.ts'

/** Up to this many texts are written as plain alternatives. */
const maxPlain = 8
/** Deeper nested groups become a rule: an engine reads them recursively. */
const maxInlined = 6

/**
 * One of these texts, as a tree of their common beginnings: an engine then follows one way, and not one for each text. Equal ends of
 * texts share a rule.
 */
export function choiceOfTexts(book: RuleBook, texts: readonly string[]): Expression {
  const distinct = [...new Set(texts)]
  if (distinct.length <= maxPlain) return choiceOf(distinct.map(literal))
  // Neighbours in this order share a beginning.
  const sorted = distinct.map((text) => [...text]).sort((a, b) => compare(a, b))
  return branch(book, sorted, { from: 0, to: sorted.length, at: 0, inlined: 0 })
}

type Range = { readonly from: number; readonly to: number; readonly at: number; readonly inlined: number }

/** The texts of a range without their first `at` letters, which are equal. */
function branch(book: RuleBook, texts: readonly (readonly string[])[], { from, to, at, inlined }: Range): Expression {
  const options: Expression[] = []
  for (let first = from; first < to; ) {
    const letter = texts[first]?.[at]
    let next = first + 1
    if (letter === undefined) {
      options.push(empty)
    } else {
      while (next < to && texts[next]?.[at] === letter) next++
      const end = commonEnd(texts[first] ?? [], texts[next - 1] ?? [])
      const start = literal((texts[first] ?? []).slice(at, end).join(''))
      const isRule = inlined >= maxInlined
      const rest =
        next - first === 1 ? empty : branch(book, texts, { from: first, to: next, at: end, inlined: isRule ? 0 : inlined + 1 })
      options.push(sequence(start, isRule ? book.shared('option', rest) : rest))
    }
    first = next
  }
  return choiceOf(options)
}

/** The length of the common beginning; of the first and last of a sorted range it is that of all. */
function commonEnd(a: readonly string[], b: readonly string[]): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

function compare(a: readonly string[], b: readonly string[]): number {
  const end = commonEnd(a, b)
  const [left, right] = [a[end], b[end]]
  if (left === right) return 0
  return left === undefined || (right !== undefined && left < right) ? -1 : 1
}
