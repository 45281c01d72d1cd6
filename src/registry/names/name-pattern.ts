/**
 * Whether a name has the form of a pattern, in which `*` matches any text. Compares piece by piece: names come from requests, and a hostile
 * one could make a regular expression backtrack endlessly.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return name === first
  const last = rest.pop() ?? ''
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let position = first.length
  for (const piece of rest) {
    const found = name.indexOf(piece, position)
    if (found === -1) return false
    position = found + piece.length
  }
  return position <= name.length - last.length
}
