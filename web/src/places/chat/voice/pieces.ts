/** Speech begins sooner with a short piece; servers take some thousand characters. */
const mostChars = 1000

/** A text in pieces that end with a paragraph, a sentence or a word, as far as they have any. */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = []
  let rest = text.trim()
  while (rest.length > mostChars) {
    const begin = rest.slice(0, mostChars)
    const ends = [/[\s\S]*\n/, /[\s\S]*[.!?。！？]\s?/, /[\s\S]*\s/].map((end) => end.exec(begin)?.[0].length ?? 0)
    const length = ends.find((end) => end > mostChars / 4) ?? mostChars
    pieces.push(rest.slice(0, length).trim())
    rest = rest.slice(length).trim()
  }
  return [...pieces, rest].filter((piece) => piece !== '')
}
