import { type EndMarks, noEndMarks } from './end-marks.ts'
import { ensure, maxHeldChars, peek, type Reading, type TextFeed, upcoming } from './text-feed.ts'

const simpleEscapes = '"\\/bfnrt'

type StringReading = {
  readonly quote: string
  /** Receives the content of the JSON string, immediately after it was read. */
  out(text: string): void
  /** The text is not valid JSON. */
  readonly repaired?: (() => void) | undefined
  /** Tags that end the string, unclosed. */
  readonly ends?: EndMarks
}

/**
 * Reads a quoted string after its opening quote, and writes the content of the JSON string as it arrives. False if the text ends before the
 * closing quote. Inside `"` and `'` the escapes of JSON and Python apply; a longer delimiter has no escapes.
 */
export function* readString(feed: TextFeed, reading: StringReading): Reading<boolean> {
  const { quote, out, ends = noEndMarks, repaired } = reading
  const isRaw = quote !== '"' && quote !== "'"
  const stops = isRaw ? quote[0] + ends.firstChars : `${quote}"\\${ends.firstChars}`
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || feed.heldChars > maxHeldChars) return false
    const plain = feed.text.slice(feed.at, endOfPlain(feed, stops, isRaw))
    if (isRaw && /[\ud800-\udbff]$/.test(plain) && !feed.ended && feed.at + plain.length === feed.text.length) {
      // The other half of a surrogate pair.
      yield
    } else if (plain !== '') {
      feed.at += plain.length
      out(isRaw ? escapeText(plain) : plain)
    } else if (next === quote || (isRaw && (yield* upcoming(feed, [quote])) !== undefined)) {
      feed.at += quote.length
      return true
    } else if (next === '\\' && !isRaw) {
      const escaped = yield* readEscape(feed, repaired)
      if (escaped === undefined) return false
      out(escaped)
    } else if (yield* ends.endString(feed)) {
      return false
    } else {
      feed.at += 1
      // A line break, for instance. Quotes of the other kind, and the first characters of marks, are text.
      if (next < ' ' && !isRaw) repaired?.()
      out(escapeText(next))
    }
  }
}

/** The content of the JSON string of a text. */
export function escapeText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** The end of the text that needs neither escapes nor closer inspection. */
function endOfPlain({ text, at }: TextFeed, stops: string, isRaw: boolean): number {
  let end = at
  while (end < text.length) {
    const char = text[end] as string
    if (stops.includes(char) || (char < ' ' && !isRaw)) break
    end += 1
  }
  return end
}

function* readEscape(feed: TextFeed, repaired: (() => void) | undefined): Reading<string | undefined> {
  if (!(yield* ensure(feed, 2))) return undefined
  const letter = feed.text[feed.at + 1] as string
  if (letter === 'u' || letter === 'x') {
    const digits = letter === 'u' ? 4 : 2
    yield* ensure(feed, 2 + digits)
    const hex = feed.text.slice(feed.at + 2, feed.at + 2 + digits)
    if (hex.length === digits && /^[0-9a-fA-F]+$/.test(hex)) {
      feed.at += 2 + digits
      if (letter === 'x') repaired?.()
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
  repaired?.()
  if (letter === "'") return "'"
  // Not an escape of either language, so the backslash is literal.
  return `\\\\${escapeText(char)}`
}
