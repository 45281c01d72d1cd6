import { distance } from 'fastest-levenshtein'

/** Longer names are not what anyone meant, and comparing them costs their length squared. */
const longestName = 200

/** The candidate that was probably meant, if any is close; case, `-` and `_` hardly count. */
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
