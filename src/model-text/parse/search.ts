/** The earliest of some tags in a text, or otherwise the length of its end that may begin one of them. */
export function search(text: string, tags: readonly string[]): { readonly tag?: string; readonly at: number } {
  let best: { readonly tag: string; readonly at: number } | undefined
  for (const tag of tags) {
    const at = text.indexOf(tag)
    if (at !== -1 && (best === undefined || at < best.at)) best = { tag, at }
  }
  if (best !== undefined) return best
  let at = text.length
  for (const tag of tags) {
    for (let length = Math.min(tag.length - 1, text.length); length > text.length - at; length--) {
      if (text.endsWith(tag.slice(0, length))) at = text.length - length
    }
  }
  return { at }
}
