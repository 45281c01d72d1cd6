import { GrammarError } from '../rules/grammar-error.ts'

const quoted = /"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'/y
const word = /[A-Za-z_]\w*/y
const mark = /::=|[;|()[\]{}?*+]/y
/** KBNF's marks in Lark's language; the others are the same in both. */
const marks: Readonly<Record<string, string>> = { '::=': ':', ';': '\n', '{': '(', '}': ')*' }
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/**
 * A grammar in KBNF, which tabbyAPI accepts, in Lark's language: its rules end in `;`, and it begins at `start`. Undefined for a text whose
 * rules end otherwise. Throws for what Lark's language lacks, with the line.
 */
export function kbnfToLark(text: string): string | undefined {
  const end = text.trimEnd()
  if (!end.endsWith(';') && !end.endsWith('*)')) return undefined
  let lark = ''
  let last = ''
  let at = 0
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    at += found?.length ?? 0
    return found
  }
  while (at < text.length) {
    if (match(/\s+/y) !== undefined) continue
    if (text.startsWith('(*', at)) {
      const close = text.indexOf('*)', at + 2)
      if (close < 0) throw unusable(text, at, 'the comment has no end')
      at = close + 2
      continue
    }
    const start = at
    const isRegex = match(/#e?(?=["'])/y) !== undefined
    const literal = match(quoted)
    const name = literal === undefined ? match(word) : undefined
    const found = literal ?? name ?? match(mark)
    if (found === undefined || text.startsWith('!', at))
      throw unusable(text, start, `'${text.slice(start, at + 1)}' cannot be used`)
    last = found
    if (literal !== undefined) lark += isRegex ? ` ${regexOf(literal)}` : ` ${JSON.stringify(unescaped(literal))}`
    else if (name !== undefined) lark += ` ${larkName(name)}`
    else lark += marks[found] ?? found
  }
  return last === ';' ? lark.replace(/^ /gm, '') : undefined
}

/** Lark takes upper-case names for terminals, which cannot refer to rules. */
function larkName(name: string): string {
  if (/^[a-z][a-z0-9]*$/.test(name)) return name
  return `k_${name.replace(/[_A-Z]/g, (char) => (char === '_' ? '__' : `_${char.toLowerCase()}`))}`
}

function regexOf(literal: string): string {
  const source = unescaped(literal).replace(/\\[\s\S]|[/\n]/g, (part) => (part === '/' ? '\\/' : part === '\n' ? '\\n' : part))
  return `/${source}/`
}

function unescaped(literal: string): string {
  return literal
    .slice(1, -1)
    .replace(/\\(u[0-9a-fA-F]{4}|[\s\S])/g, (_, code: string) =>
      code.length > 1 ? String.fromCharCode(Number.parseInt(code.slice(1), 16)) : (escapes[code] ?? code),
    )
}

function unusable(text: string, at: number, what: string): GrammarError {
  return new GrammarError('invalid-grammar', `the grammar cannot be used, line ${text.slice(0, at).split('\n').length}: ${what}`)
}
