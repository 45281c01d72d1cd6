/** Replaces a secret in a text. */
const mask = '…'
/** Shorter ones would match any text. */
const minLength = 6

/** How often each secret is in use. */
const secrets = new Map<string, number>()
let anySecret: RegExp | undefined

/**
 * Registers secrets of servers, which no error, header or log may show. They are shared by all models, because one server may learn the key
 * of another. Returns a function that forgets them.
 */
export function keepSecret(values: readonly string[]): () => void {
  for (const value of values) secrets.set(value, (secrets.get(value) ?? 0) + 1)
  anySecret = patternOf([...secrets.keys()])
  return () => {
    for (const value of values) {
      const left = (secrets.get(value) ?? 1) - 1
      if (left === 0) secrets.delete(value)
      else secrets.set(value, left)
    }
    anySecret = patternOf([...secrets.keys()])
  }
}

/** A text about a server or from it, without secrets in any usual encoding. Never applied to a model's output, which stays as it is. */
export function withoutSecrets(text: string): string {
  return anySecret === undefined ? text : text.replaceAll(anySecret, mask)
}

/**
 * Hides a secret as `withoutSecrets` does, but only in the texts of one request: a caller that could choose a secret for all texts could
 * blank other callers' errors.
 */
export function hiding(secret: string): (text: string) => string {
  const pattern = patternOf([secret])
  return (text) => (pattern === undefined ? text : text.replaceAll(pattern, mask))
}

function patternOf(words: readonly string[]): RegExp | undefined {
  // The longest first: a shorter match would leave the rest of a longer one.
  const forms = [...new Set(words.flatMap(encodings))]
    .filter(({ length }) => length >= minLength)
    .toSorted((one, other) => other.length - one.length)
  if (forms.length === 0) return undefined
  return new RegExp(forms.map((form) => form.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'), 'gi')
}

function encodings(secret: string): string[] {
  if (secret.length < minLength) return []
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...base64Cores(Buffer.from(secret))]
}

/** The characters that every base64 text with these bytes contains, at any offset. */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes])
    const from = Math.ceil((offset * 8) / 6)
    const to = Math.floor((padded.length * 8) / 6)
    return (['base64', 'base64url'] as const).map((encoding) => padded.toString(encoding).slice(from, to))
  })
}
