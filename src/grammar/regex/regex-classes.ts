import { anyChar, type CharSet, charSet, charsOf, unite } from '../rules/char-set.ts'
import { GrammarError } from '../rules/grammar-error.ts'

export const digitChars: CharSet = charSet([0x30, 0x39])
export const wordChars: CharSet = charSet([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a])

/** The characters that `.` does not match. */
export const lineEnds: CharSet = charsOf('\n\r\u2028\u2029')

/** `\s`: white space and line ends, as ECMAScript lists them. */
export const spaceChars: CharSet = unite(
  charSet([0x09, 0x0d], [0x2000, 0x200a]),
  charsOf(' \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff'),
)

const known = new Map<string, CharSet>()

/** The characters of a Unicode property such as `{Letter}`, taken from JavaScript's own regular expressions, once for each. */
export function propertyChars(name: string): CharSet {
  const remembered = known.get(name)
  if (remembered !== undefined) return remembered
  const runs = [...everyChar().matchAll(propertyRuns(name))].map(([run]) => {
    const first = run.codePointAt(0) ?? 0
    // Runs in a text of all characters in order are ranges, apart from the surrogates, which charSet removes.
    const last = [...run.slice(-2)].at(-1)?.codePointAt(0) ?? first
    return [first, last] as const
  })
  const set = charSet(...runs)
  known.set(name, set)
  return set
}

function propertyRuns(name: string): RegExp {
  try {
    return new RegExp(`\\p${name}+`, 'gu')
  } catch (error) {
    throw new GrammarError('invalid-regex', `'\\p${name}' is not a Unicode property`, { cause: error })
  }
}

function everyChar(): string {
  const pieces: string[] = []
  for (const [first, last] of anyChar) {
    for (let from = first; from <= last; from += 4096) {
      const count = Math.min(4096, last - from + 1)
      pieces.push(String.fromCodePoint(...Array.from({ length: count }, (_, index) => from + index)))
    }
  }
  return pieces.join('')
}
