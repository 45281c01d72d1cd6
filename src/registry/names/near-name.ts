import { distance } from 'fastest-levenshtein'

/** Longer names are not compared: the cost is quadratic in the length. */
const longestName = 200

/** The closest candidate, if any is near enough to be a typing mistake; case, `-` and `_` are ignored. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > longestName) return undefined
  const wanted = fold(name)
  let best: { candidate: string; edits: number } | undefined
  for (const candidate of candidates) {
    const edits = distance(wanted, fold(candidate))
    const isNear = edits <= Math.max(1, Math.floor(Math.min(wanted.length, candidate.length) / 3))
    if (isNear && edits < (best?.edits ?? Number.POSITIVE_INFINITY)) best = { candidate, edits }
  }
  return best?.candidate
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}
