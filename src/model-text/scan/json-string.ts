import { ensure, maxHeldChars, peek, type Reading, type TextFeed } from './text-feed.ts'

const simpleEscapes = '"\\/bfnrt'

/**
 * Reads a quoted text, whose quote is next, and writes what stands between the quotes of a JSON string, as far as it has
 * come. False when the text ends before the closing quote. Between the usual quotes the escapes of JSON and Python are known;
 * in a quote that is a longer mark nothing is escaped.
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

/** A text as it stands between the quotes of a JSON string. */
export function escapeText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Up to where nothing has to be escaped. Not even the other quote may stand as it is if it is JSON's own. */
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

/** Up to where the text cannot be the beginning of the quote. */
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
    // Cut off inside the escape: what there is of it would not be JSON.
    if (feed.ended && feed.at + 2 + digits > feed.text.length && /^[0-9a-fA-F]*$/.test(hex)) return undefined
  }
  // Half of a character that takes two units is none: the other half may still have to come.
  if (/[\ud800-\udbff]/.test(letter)) yield* ensure(feed, 3)
  const char = String.fromCodePoint(feed.text.codePointAt(feed.at + 1) as number)
  feed.at += 1 + char.length
  if (simpleEscapes.includes(letter)) return `\\${letter}`
  if (letter === "'") return "'"
  // Not an escape of either language, so the backslash was meant.
  return `\\\\${escapeText(char)}`
}
