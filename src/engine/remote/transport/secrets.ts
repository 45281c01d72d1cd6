/** What stands for a secret in a text. */
const mask = '…'
/** The whole of a text in which a secret is encoded more than once. */
const withheld = 'what the server said is not shown, because it holds a key'
/** Shorter ones would be found in any text. */
const minLength = 6
/** A part of a long secret is one, too; texts may be cut anywhere. */
const partLength = 12
/** Output of a model is left alone unless it holds a secret as long as this: placeholders such as `none` are words. */
const minOutputLength = 16

/** Of longer texts, only one level of escapes is read. */
const shortLength = 16_384

/** How often each secret is in use. */
const secrets = new Map<string, number>()
let inAnyText: RegExp | undefined
let inOutput: RegExp | undefined

/**
 * Secrets of servers, which no text that comes from a server may show. Shared by all models, because one server may be told the key of
 * another. Returns a function that forgets them.
 */
export function keepSecret(values: readonly string[]): () => void {
  const kept = values.filter(({ length }) => length >= minLength)
  for (const value of kept) secrets.set(value, (secrets.get(value) ?? 0) + 1)
  prepare()
  return () => {
    for (const value of kept) {
      const left = (secrets.get(value) ?? 1) - 1
      if (left === 0) secrets.delete(value)
      else secrets.set(value, left)
    }
    prepare()
  }
}

/** A text about a server or from it, without secrets in any common encoding. */
export function withoutSecrets(text: string): string {
  return inAnyText === undefined ? text : redact(text, inAnyText)
}

/** JSON from a server without secrets in its texts; the same value where there are none. `source`: its text, where at hand. */
export function outputWithoutSecrets(value: unknown, source?: string): unknown {
  if (inOutput === undefined) return value
  // Without escapes, the source shows the texts as they are.
  if (source !== undefined && !source.includes('\\') && !mayHold(source, inOutput)) return value
  return redactValue(value, inOutput)
}

/** As `outputWithoutSecrets`, for JSON that is not a model's output. */
export function valueWithoutSecrets(value: unknown): unknown {
  return inAnyText === undefined ? value : redactValue(value, inAnyText)
}

/** What hides the secret that one request brought, in that request's texts only. */
export type Redactor = {
  /** A text about a server or from it, which may have been cut. */
  text(text: string): string
  /** A value that has a model's output. */
  output<T>(value: T): T
}

/**
 * Hides a secret as `keepSecret` does, but for one request: a caller that could choose what is hidden in all texts could blank other
 * callers' replies.
 */
export function redactorOf(secret: string): Redactor {
  if (secret.length < minLength) return { text: (text) => text, output: (value) => value }
  const spellings = encodings(secret)
  // Of texts that were cut before they came here, a part of an encoding may be left.
  const inTexts = patternOf([...spellings, ...spellings.flatMap(partsOf)]) ?? neverMatches
  const inOutputs = secret.length < minOutputLength ? undefined : patternOf(spellings)
  return {
    text: (text) => redact(text, inTexts),
    output: <T>(value: T) => (inOutputs === undefined ? value : (redactValue(value, inOutputs) as T)),
  }
}

const neverMatches = /(?!)/g

function prepare(): void {
  const all = [...secrets.keys()]
  inAnyText = patternOf(all.flatMap((secret) => [...encodings(secret), ...partsOf(secret)]))
  inOutput = patternOf(all.filter(({ length }) => length >= minOutputLength).flatMap(encodings))
}

function patternOf(words: readonly string[]): RegExp | undefined {
  if (words.length === 0) return undefined
  // The longest first: a part of a secret would leave the rest of it.
  const sorted = [...new Set(words)].toSorted((one, other) => other.length - one.length)
  return new RegExp(sorted.map((word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'), 'gi')
}

function encodings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [secret, encodeURIComponent(secret), bytes.toString('hex'), ...base64Cores(bytes)].filter(
    ({ length }) => length >= minLength,
  )
}

/** The characters that every base64 text with these bytes holds, wherever in it they are. */
function base64Cores(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes])
    const from = Math.ceil((offset * 8) / 6)
    const to = Math.floor((padded.length * 8) / 6)
    return (['base64', 'base64url'] as const).map((encoding) => padded.toString(encoding).slice(from, to))
  })
}

function partsOf(secret: string): string[] {
  return Array.from({ length: Math.max(0, secret.length - partLength) }, (_, at) => secret.slice(at, at + partLength))
}

function redact(text: string, pattern: RegExp): string {
  if (text.length < minLength) return text
  const masked = text.replaceAll(pattern, mask).replaceAll(/…{2,}/g, mask)
  return /[%\\&]/.test(masked) && holdsEncoded(masked, pattern) ? withheld : masked
}

function mayHold(text: string, pattern: RegExp): boolean {
  return /[%&]/.test(text) || holds(text, pattern)
}

function holds(text: string, pattern: RegExp): boolean {
  pattern.lastIndex = 0
  return pattern.test(text)
}

/** Servers nest escapes of JSON, URLs and HTML when they quote a request; a secret may itself look like one. */
function holdsEncoded(text: string, pattern: RegExp): boolean {
  const seen = new Set([text])
  let level = [text]
  const levels = text.length > shortLength ? 1 : 3
  for (let depth = 0; depth < levels; depth++) {
    level = level.flatMap((known) => decoders.map((decode) => decode(known))).filter((next) => !seen.has(next))
    if (level.some((next) => holds(next, pattern))) return true
    for (const next of level) seen.add(next)
  }
  return false
}

const decoders: readonly ((text: string) => string)[] = [
  (text) =>
    text.replaceAll(/\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|(["'\\/]))/gi, (_, four?: string, two?: string, itself?: string) => {
      return itself ?? String.fromCharCode(Number.parseInt(four ?? two ?? '0', 16))
    }),
  (text) => text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()),
  (text) =>
    text.replaceAll(
      /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|(quot|amp|lt|gt|apos));/gi,
      (_, hex?: string, digits?: string, name?: string) => {
        if (name !== undefined) return entities[name.toLowerCase()] ?? ''
        return characterOf(hex === undefined ? Number(digits) : Number.parseInt(hex, 16))
      },
    ),
]

const entities: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'" }

function characterOf(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

function redactValue(value: unknown, pattern: RegExp): unknown {
  if (typeof value === 'string') return redact(value, pattern)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined
    for (const [index, item] of value.entries()) {
      const redacted = redactValue(item, pattern)
      if (redacted === item) continue
      copy ??= [...value]
      copy[index] = redacted
    }
    return copy ?? value
  }
  const entries = Object.entries(value).map(([key, item]) => [redact(key, pattern), redactValue(item, pattern)] as const)
  const isSame = entries.every(([key, item]) => Object.hasOwn(value, key) && item === (value as Record<string, unknown>)[key])
  return isSame ? value : Object.fromEntries(entries)
}
