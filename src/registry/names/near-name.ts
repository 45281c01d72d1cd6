import { distance } from 'fastest-levenshtein'

/** Longer names are not compared: the cost is quadratic in the length. */
const longestName = 200

/** The closest candidate, if any is near enough to be a typing mistake; case, `-` and `_` are ignored. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > longestName) return undefined
  const wanted = fold(name)
  let best: { candidate: string; edits: number } | undefined
  for (const candidate of candidates) {
    const edits = isSwapped(wanted, fold(candidate)) ? 1 : distance(wanted, fold(candidate))
    const isNear = edits <= Math.max(1, Math.floor(Math.min(wanted.length, candidate.length) / 3))
    if (isNear && edits < (best?.edits ?? Number.POSITIVE_INFINITY)) best = { candidate, edits }
  }
  return best?.candidate
}

/** The end of a message about an unknown name: what may have been meant, or an empty text. */
export function didYouMean(name: unknown, candidates: readonly string[]): string {
  const nearest = typeof name === 'string' ? nearestName(name, candidates) : undefined
  return nearest === undefined ? '' : `; did you mean '${nearest}'?`
}

/** Whether the names differ by two swapped neighbours, which is one mistake. */
function isSwapped(one: string, other: string): boolean {
  const at = [...one].findIndex((letter, index) => letter !== other[index])
  if (one.length !== other.length || at === -1) return false
  const [first = '', second = ''] = other.slice(at)
  return one.slice(at) === second + first + other.slice(at + 2)
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}
