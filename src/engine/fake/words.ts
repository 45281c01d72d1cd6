import { setImmediate as nextTurn } from 'node:timers/promises'

/** Characters that are read before other work of the process runs. */
const charsPerTurn = 1024 * 1024

/** The number of words of texts, however long they are. */
export async function countWords(texts: readonly string[]): Promise<number> {
  let count = 0
  let read = 0
  for (const text of texts) {
    let inWord = false
    for (let index = 0; index < text.length; index++) {
      const isBlank = isSpace(text.charCodeAt(index))
      if (!isBlank && !inWord) count += 1
      inWord = !isBlank
      if (++read % charsPerTurn === 0) await nextTurn()
    }
  }
  return count
}

/**
 * The words of a text, each with the white space in front of it; white space at the end is one more. After `most` words, the rest of the
 * text is the last. A regular expression would overflow its stack on megabytes of white space.
 */
export function splitWords(text: string, most = Number.POSITIVE_INFINITY): string[] {
  const words: string[] = []
  let start = 0
  let inWord = false
  for (let index = 0; index < text.length; index++) {
    const isBlank = isSpace(text.charCodeAt(index))
    if (isBlank && inWord) {
      if (words.length + 1 >= most) break
      words.push(text.slice(start, index))
      start = index
    }
    inWord = !isBlank
  }
  if (start < text.length) words.push(text.slice(start))
  return words
}

/** As `\s` of a regular expression. */
function isSpace(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d)
  // Most other scripts are between.
  return code >= 0xa0 && (code <= 0x3000 || code === 0xfeff) && rareSpaces.has(code)
}

const rareSpaces = new Set([
  0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f,
  0x205f, 0x3000, 0xfeff,
])
