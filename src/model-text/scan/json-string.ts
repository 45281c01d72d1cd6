import { ensure, maxHeldChars, peek, type Reading, type TextFeed } from './text-feed.ts'

const simpleEscapes = '"\\/bfnrt'

/**
 * Reads a quoted string, whose quote is next, and writes the content of the JSON string as it comes. False when the text ends
 * before the closing quote. Inside `"` and `'` the escapes of JSON and Python apply; a longer delimiter has no escapes.
 */
export function* readString(feed: TextFeed, quote: string, out: (text: string) => void): Reading<boolean> {
  feed.at += quote.length
  if (quote !== '"' && quote !== "'") return yield* readRaw(feed, quote, out)
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || feed.heldChars > maxHeldChars) return false
    const plainEnd = endOfPlain(feed, quote)
    if (plainEnd > feed.at) {
      out(feed.text.slice(feed.at, plainEnd))
      feed.at = plainEnd
    } else if (next === quote) {
      feed.at += 1
      return true
    } else if (next === '\\') {
      const escaped = yield* readEscape(feed)
      if (escaped === undefined) return false
      out(escaped)
    } else {
      feed.at += 1
      out(next === '"' ? '\\"' : escapeText(next))
    }
  }
}

/** The content of the JSON string of a text. */
export function escapeText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** The end of the text that needs no escapes. In single quotes, JSON's own quote does. */
function endOfPlain({ text, at }: TextFeed, quote: string): number {
  let end = at
  while (end < text.length) {
    const char = text[end] as string
    if (char === quote || char === '"' || char === '\\' || char < ' ') break
    end += 1
  }
  return end
}

function* readRaw(feed: TextFeed, quote: string, out: (text: string) => void): Reading<boolean> {
  while (true) {
    const end = feed.text.indexOf(quote, feed.at)
    const upTo = end === -1 ? certainUpTo(feed, quote) : end
    if (upTo > feed.at) {
      out(escapeText(feed.text.slice(feed.at, upTo)))
      feed.at = upTo
    }
    if (end !== -1) {
      feed.at += quote.length
      return true
    }
    if (feed.ended) {
      out(escapeText(feed.text.slice(feed.at)))
      feed.at = feed.text.length
      return false
    }
    yield
  }
}

/** The end of the text that cannot be part of the closing quote. */
function certainUpTo(feed: TextFeed, quote: string): number {
  for (let length = Math.min(quote.length - 1, feed.text.length - feed.at); length > 0; length--) {
    if (feed.text.endsWith(quote.slice(0, length))) return feed.text.length - length
  }
  return feed.text.length
}

function* readEscape(feed: TextFeed): Reading<string | undefined> {
  if (!(yield* ensure(feed, 2))) return undefined
  const letter = feed.text[feed.at + 1] as string
  if (letter === 'u' || letter === 'x') {
    const digits = letter === 'u' ? 4 : 2
    yield* ensure(feed, 2 + digits)
    const hex = feed.text.slice(feed.at + 2, feed.at + 2 + digits)
    if (hex.length === digits && /^[0-9a-fA-F]+$/.test(hex)) {
      feed.at += 2 + digits
      return `\\u${hex.padStart(4, '0')}`
    }
    // Truncated inside the escape: its beginning is not JSON.
    if (feed.ended && feed.at + 2 + digits > feed.text.length && /^[0-9a-fA-F]*$/.test(hex)) return undefined
  }
  // The other half of a surrogate pair may not have arrived.
  if (/[\ud800-\udbff]/.test(letter)) yield* ensure(feed, 3)
  const char = String.fromCodePoint(feed.text.codePointAt(feed.at + 1) as number)
  feed.at += 1 + char.length
  if (simpleEscapes.includes(letter)) return `\\${letter}`
  if (letter === "'") return "'"
  // Not an escape of either language, so the backslash is literal.
  return `\\\\${escapeText(char)}`
}
