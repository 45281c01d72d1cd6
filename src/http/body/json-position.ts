const whiteSpace = /[ \t\n\r]*/y
const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

const quote = 0x22
const space = 0x20
const backslash = 0x5c

/** What is allowed next; `separator`: what follows a value. */
type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'separator'

/**
 * The offset of the first JSON error: the text's length when it ends too early, the start of a bad string or number; undefined for
 * valid JSON. For error messages only.
 */
export function findJsonError(text: string): number | undefined {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  let index = 0
  for (;;) {
    index = skip(whiteSpace, text, index)
    if (expected === 'separator' && open.length === 0) return index === text.length ? undefined : Math.min(index, text.length)
    const char = text[index]
    if (char === undefined) return text.length
    const inObject = open.at(-1) === '{'
    if (expected === 'separator') {
      if (char === ',') expected = inObject ? 'key' : 'value'
      else if (char === (inObject ? '}' : ']')) open.pop()
      else return index
      index += 1
    } else if ((expected === 'key-or-end' && char === '}') || (expected === 'value-or-end' && char === ']')) {
      open.pop()
      expected = 'separator'
      index += 1
    } else if (expected === 'key' || expected === 'key-or-end') {
      if (char !== '"') return index
      const end = skipString(text, index)
      if (end === index) return index
      index = skip(whiteSpace, text, end)
      if (text[index] !== ':') return index
      expected = 'value'
      index += 1
    } else if (char === '{' || char === '[') {
      open.push(char)
      expected = char === '{' ? 'key-or-end' : 'value-or-end'
      index += 1
    } else {
      const end = char === '"' ? skipString(text, index) : skip(word, text, index)
      if (end === index) return index
      expected = 'separator'
      index = end
    }
  }
}

function skip(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index
  return pattern.test(text) ? pattern.lastIndex : index
}

/** A regular expression would overflow its stack on megabytes. */
function skipString(text: string, start: number): number {
  let index = start + 1
  for (;;) {
    const code = text.charCodeAt(index)
    if (Number.isNaN(code)) return text.length + 1
    if (code === quote) return index + 1
    if (code < space) return start
    const next = code === backslash ? skip(escaped, text, index) : index + 1
    // A text that ends inside an escape ends too early; any other bad escape invalidates the string.
    if (next === index) return text.length - index < 6 && isPartialEscape(text.slice(index)) ? text.length + 1 : start
    index = next
  }
}

function isPartialEscape(rest: string): boolean {
  return /^\\(?:u[\da-fA-F]{0,3})?$/.test(rest)
}
