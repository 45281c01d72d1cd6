/**
 * Vectors that stand in place of tokens: those of a picture or a sound. A sequence knows them by placeholder tokens, which are different
 * for different contents.
 */
export type Span = {
  readonly start: number
  readonly tokens: number
  /** How far the positions of what follows move on. */
  readonly positions: number
}

/** Above all ids of vocabularies, and below those that need a sign. */
const firstPlaceholder = 2 ** 30

/** The placeholder tokens of a content, from its hash, of which any four bytes are as good as others. */
export function placeholders(hash: Uint32Array, count: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, index) => {
    const word = hash[index % hash.length] as number
    return firstPlaceholder + ((word ^ Math.imul(index, 0x9e3779b1)) & (firstPlaceholder - 1))
  })
}

export function isPlaceholder(token: number): boolean {
  return token >= firstPlaceholder
}

export function positionAt(spans: readonly Span[], index: number): number {
  let position = index
  for (const { start, tokens, positions } of spans) {
    if (start >= index) break
    // Inside of a grid, all have the position of its start.
    if (index < start + tokens) return positions === tokens ? position : position - (index - start)
    position += positions - tokens
  }
  return position
}

/** The most tokens of these that end with no part of a span: vectors are kept together. */
export function endOutside(spans: readonly Span[], count: number): number {
  const cut = spans.find(({ start, tokens }) => start < count && count < start + tokens)
  return cut?.start ?? count
}
