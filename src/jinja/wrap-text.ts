import { plainText } from './foreign-text.ts'
import { characters, countCharacters, sliceText } from './text.ts'

type WrapOptions = { readonly width: number; readonly breakLong: boolean; readonly onHyphens: boolean }

/** Python's `textwrap.wrap` of one line, with white space kept inside lines and dropped at their ends. */
export function wrapText(line: string, { width, breakLong, onHyphens }: WrapOptions): string[] {
  const parts = onHyphens ? /\s+|[^\s-]*[^\s-]-(?=[^\s-]{2})|[^\s-]+-*|-+/gu : /\s+|\S+/gu
  const chunks = Array.from(plainText(line).matchAll(parts), ({ index, 0: { length } }) => line.slice(index, index + length))
  const lines: string[] = []
  let current = ''
  const flush = () => {
    const text = current.trimEnd()
    if (text !== '') lines.push(text)
    current = ''
  }
  for (const chunk of chunks) {
    const fits = countCharacters(current) + countCharacters(chunk) <= width
    if (!fits && chunk.trim() === '') {
      flush()
    } else if (fits) {
      if (current !== '' || chunk.trim() !== '' || lines.length === 0) current += chunk
    } else if (countCharacters(chunk) > width && breakLong) {
      let rest = chunk
      const room = Math.max(1, width - countCharacters(current))
      current += sliceText(rest, 0, room)
      rest = sliceText(rest, room)
      while (rest !== '') {
        flush()
        current = sliceText(rest, 0, Math.max(1, width))
        rest = sliceText(rest, characters(current).length)
      }
    } else {
      flush()
      current = chunk
    }
  }
  flush()
  return lines
}
