/**
 * A set of Unicode code points: sorted, disjoint, not adjacent `[first, last]` pairs. Surrogates are never members, because no
 * text that a model writes contains them.
 */
export type CharSet = readonly (readonly [first: number, last: number])[]

const surrogates = [0xd800, 0xdfff] as const

/** Every code point that a text can contain. */
export const anyChar: CharSet = [
  [0, surrogates[0] - 1],
  [surrogates[1] + 1, 0x10ffff],
]

/** The set of these ranges, which may overlap and be in any order. */
export function charSet(...ranges: readonly (readonly [number, number])[]): CharSet {
  const sorted = ranges.filter(([first, last]) => first <= last).sort((a, b) => a[0] - b[0])
  const merged: [number, number][] = []
  for (const [first, last] of sorted) {
    const previous = merged.at(-1)
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else merged.push([first, last])
  }
  return merged.some(([first, last]) => first <= surrogates[1] && last >= surrogates[0]) ? withoutSurrogates(merged) : merged
}

export function charsOf(text: string): CharSet {
  return charSet(...[...text].map((char) => [codeOf(char), codeOf(char)] as const))
}

export function unite(...sets: readonly CharSet[]): CharSet {
  return charSet(...sets.flat())
}

export function intersect(left: CharSet, right: CharSet): CharSet {
  const both: [number, number][] = []
  let l = 0
  let r = 0
  for (let a = left[l], b = right[r]; a !== undefined && b !== undefined; a = left[l], b = right[r]) {
    const first = Math.max(a[0], b[0])
    const last = Math.min(a[1], b[1])
    if (first <= last) both.push([first, last])
    if (a[1] < b[1]) l++
    else r++
  }
  return both
}

/** Every character that is not in the set. */
export function invert(set: CharSet): CharSet {
  const others: [number, number][] = []
  let next = 0
  for (const [first, last] of set) {
    others.push([next, first - 1])
    next = last + 1
  }
  return charSet(...others, [next, 0x10ffff])
}

export function subtract(left: CharSet, right: CharSet): CharSet {
  return intersect(left, invert(right))
}

export function isEmptySet(set: CharSet): boolean {
  return set.length === 0
}

export function hasChar(set: CharSet, code: number): boolean {
  return set.some(([first, last]) => first <= code && code <= last)
}

/** The one character of a set that has exactly one. */
export function soleChar(set: CharSet): string | undefined {
  const [range] = set
  return set.length === 1 && range !== undefined && range[0] === range[1] ? String.fromCodePoint(range[0]) : undefined
}

function withoutSurrogates(ranges: readonly (readonly [number, number])[]): CharSet {
  return ranges.flatMap(([first, last]) =>
    anyChar.map(([low, high]) => [Math.max(first, low), Math.min(last, high)] as const).filter(([low, high]) => low <= high),
  )
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0
}
