import { spendItems, spendRead } from '../values/budget.ts'
import { plainText } from '../values/foreign-text.ts'
import { characters, countCharacters } from '../values/text.ts'

type WrapOptions = { readonly width: number; readonly breakLong: boolean; readonly onHyphens: boolean }

/** Python's `textwrap.wrap` of one line, with white space kept inside lines and dropped at their ends. */
export function wrapText(line: string, { width, breakLong, onHyphens }: WrapOptions): string[] {
  spendRead(line.length)
  const parts = onHyphens ? /\s+|[^\s-]*[^\s-]-(?=[^\s-]{2})|[^\s-]+-*|-+/gu : /\s+|\S+/gu
  const chunks = Array.from(plainText(line).matchAll(parts), ({ index, 0: { length } }) => {
    spendItems(1)
    return line.slice(index, index + length)
  })
  const lines: string[] = []
  let current = ''
  let size = 0
  const flush = () => {
    spendItems(1)
    const text = current.trimEnd()
    if (text !== '') lines.push(text)
    current = ''
    size = 0
  }
  for (const chunk of chunks) {
    const length = countCharacters(chunk)
    const fits = size + length <= width
    if (!fits && chunk.trim() === '') {
      flush()
    } else if (fits) {
      if (current !== '' || chunk.trim() !== '' || lines.length === 0) {
        current += chunk
        size += length
      }
    } else if (length > width && breakLong) {
      const rest = characters(chunk)
      const room = Math.max(1, width - size)
      current += slice(rest, 0, room)
      for (let from = room; from < length; from += Math.max(1, width)) {
        flush()
        current = slice(rest, from, from + Math.max(1, width))
        size = Math.min(length - from, Math.max(1, width))
      }
    } else {
      flush()
      current = chunk
      size = length
    }
  }
  flush()
  return lines
}

function slice(all: string | readonly string[], from: number, to: number): string {
  return typeof all === 'string' ? all.slice(from, to) : all.slice(from, to).join('')
}
