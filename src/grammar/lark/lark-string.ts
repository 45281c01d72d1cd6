const letters: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f', '"': '"', "'": "'", '\\': '\\' }

/** The text between the quotes of a string in Lark's language; undefined for an escape that it does not have. */
export function readLarkString(inside: string): string | undefined {
  let isKnown = true
  const text = inside.replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gsu, (_, x, u, long, letter) => {
    const hex = x ?? u ?? long
    const code = hex === undefined ? undefined : Number.parseInt(hex, 16)
    const char = code === undefined ? letters[letter] : code <= 0x10ffff ? String.fromCodePoint(code) : undefined
    isKnown &&= char !== undefined
    return char ?? ''
  })
  return isKnown ? text : undefined
}
