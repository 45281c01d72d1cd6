import { type CharSet, charSet, hasChar, unite } from '../rules/char-set.ts'

const lastCode = 0xffff

let casePairs: readonly (readonly [number, number])[] | undefined

/** The set with the other case of its letters. Letters that are two characters in the other case stay alone. */
export function inEitherCase(set: CharSet): CharSet {
  casePairs ??= findCasePairs()
  const others = casePairs.filter(([one]) => hasChar(set, one)).map(([, other]) => [other, other] as const)
  return unite(set, charSet(...others))
}

/** Letters of the basic plane and their other case, in both directions. */
function findCasePairs(): [number, number][] {
  const pairs: [number, number][] = []
  for (let code = 0; code <= lastCode; code++) {
    const char = String.fromCodePoint(code)
    for (const other of new Set([char.toLowerCase(), char.toUpperCase()])) {
      if (other !== char && other.length === 1) pairs.push([code, other.charCodeAt(0)])
    }
  }
  return pairs
}
