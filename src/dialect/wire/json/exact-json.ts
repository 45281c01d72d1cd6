import { mayLoseDigits, safeDigits } from '../../../base/long-numbers.ts'
import { type CanonicalPath, formatPath } from '../../../contract/field.ts'

const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** JSON text as a value of a reply, if `JSON.parse` would change a number in it. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** The nearest value, for encoders that cannot write raw text. */
  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** Whether `JSON.parse` would change a number of this valid JSON text. */
export function losesDigits(text: string): boolean {
  if (!mayLoseDigits(text)) return false
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') {
      at = stringEnd(text, at)
      continue
    }
    number.lastIndex = at
    const literal = number.exec(text)?.[0]
    if (literal !== undefined && isChanged(literal)) return true
    at += literal?.length ?? 1
  }
  return false
}

function isChanged(literal: string): boolean {
  const value = Number(literal)
  return !Number.isFinite(value) || (literal.length > safeDigits && String(value) !== literal)
}

/** Valid JSON text without white space between its values. */
export function compactJson(text: string): string {
  let compact = ''
  for (let at = 0; at < text.length; ) {
    const end = text[at] === '"' ? stringEnd(text, at) : at + 1
    const piece = text.slice(at, end)
    if (piece.trim() !== '') compact += piece
    at = end
  }
  return compact
}

/** The texts of the objects of a valid JSON text at the wanted paths, by path in the form of `formatPath`. */
export function objectTexts(text: string, isWanted: (path: CanonicalPath) => boolean): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  const path: (string | number)[] = []
  const starts: (number | undefined)[] = []
  let isKey = false
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = stringEnd(text, at)
        if (isKey) path[path.length - 1] = String(JSON.parse(text.slice(at, end)))
        at = end - 1
        break
      }
      case '{':
        starts.push(isWanted(path) ? at : undefined)
        path.push('')
        isKey = true
        break
      case '[':
        starts.push(undefined)
        path.push(0)
        break
      case ':':
        isKey = false
        break
      case ',': {
        const step = path.at(-1)
        if (typeof step === 'number') path[path.length - 1] = step + 1
        else isKey = true
        break
      }
      case '}':
      case ']': {
        path.pop()
        isKey = false
        const start = starts.pop()
        if (start !== undefined) texts.set(formatPath(path), text.slice(start, at + 1))
        break
      }
    }
  }
  return texts
}

/** The offset after the string that begins here. */
function stringEnd(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const end = text.indexOf('"', from)
    if (end === -1) return text.length
    let first = end
    while (text[first - 1] === '\\') first -= 1
    if ((end - first) % 2 === 0) return end + 1
    from = end + 1
  }
}
