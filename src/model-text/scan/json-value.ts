import { coerceScalar, coerceToken } from './coerce.ts'
import { readString } from './json-string.ts'
import { allowedTypes, type Declared, itemOf, type JsonType, propertyOf } from './schema-types.ts'
import {
  accept,
  collectText,
  completeFeed,
  isSpace,
  maxHeldChars,
  peek,
  type Reading,
  readNow,
  space,
  type TextFeed,
  upcoming,
} from './text-feed.ts'

/** One value that is being read: where its JSON goes, and how it was left when the text ended inside it. */
export type JsonReader = {
  readonly feed: TextFeed
  out(text: string): void
  /** Gives up on what is neither JSON nor a Python literal. Otherwise everything is made into some JSON. */
  readonly strict: boolean
  /** A mark that quotes text in which nothing is escaped, beside the usual quotes. */
  readonly rawQuote?: string
  /** Python's long quotes are quotes too. */
  readonly python?: boolean
  /** As many brackets may be open; 128 where nothing is said. */
  readonly deepest?: number
  /** Brackets that are open, innermost last: what would complete the value. */
  closers: string[]
  /** The text so far ends after a value or an opening bracket, so that only brackets are missing. */
  closable: boolean
}

/** Sets up the reading of one value. */
export function jsonReader(
  feed: TextFeed,
  options: Pick<JsonReader, 'out' | 'strict' | 'rawQuote' | 'python' | 'deepest'>,
): JsonReader {
  return { feed, closers: [], closable: false, ...options }
}

const deepest = 128

/**
 * Reads one value in JSON or near it (single quotes, trailing commas, bare keys, Python's literals) and writes JSON as it
 * goes; a value whose declared type it is not is converted where that is safe. False when the text ended first, or, strictly,
 * when it is no value.
 */
export function* readValue(reader: JsonReader, declared: Declared): Reading<boolean> {
  const { feed } = reader
  if (feed.heldChars > maxHeldChars) return false
  const next = yield* peek(feed)
  if (next === '{' || next === '[' || next === '(') {
    if (reader.closers.length >= (reader.deepest ?? deepest)) return yield* readToken(reader, declared)
    const types = allowedTypes(declared)
    const wanted = next === '{' ? 'object' : 'array'
    if (types?.has('string') && !types.has(wanted)) return yield* readAsText(reader)
    return next === '{' ? yield* readObject(reader, declared) : yield* readArray(reader, next, declared)
  }
  const quote = yield* quoteHere(reader)
  return quote === undefined ? yield* readToken(reader, declared) : yield* readQuoted(reader, { quote, declared })
}

/** The quote that is next, which is not consumed. */
function* quoteHere({ feed, rawQuote, python }: JsonReader): Reading<string | undefined> {
  const next = yield* peek(feed)
  if (next === '"' || next === "'") return python === true ? yield* upcoming(feed, [next.repeat(3), next]) : next
  if (rawQuote === undefined || next !== rawQuote[0]) return undefined
  return yield* upcoming(feed, [rawQuote])
}

function* readQuoted(reader: JsonReader, { quote, declared }: { quote: string; declared: Declared }): Reading<boolean> {
  const types = allowedTypes(declared)
  const whole = types !== undefined && !types.has('string')
  const held = collectText()
  const out = whole ? held.out : reader.out
  reader.closable = false
  out('"')
  if (!(yield* readString(reader.feed, quote, out))) {
    if (whole) reader.out(held.text)
    return false
  }
  out('"')
  if (whole) reader.out(coerceText(JSON.parse(held.text), types) ?? held.text)
  reader.closable = true
  return true
}

/** Reads an object, whose `{` is next. */
export function* readObject(reader: JsonReader, declared: Declared): Reading<boolean> {
  const { feed, out } = reader
  if (!(yield* accept(feed, '{'))) return false
  open(reader, '{', '}')
  let separator = yield* space(feed)
  while (true) {
    const ahead = yield* memberAhead(reader, separator)
    if (ahead !== 'member') return ahead === 'end'
    const key = yield* readKey(reader)
    if (key === undefined) return false
    const beforeColon = yield* space(feed)
    const colon = yield* accept(feed, ':')
    if (!colon && (reader.strict || (yield* peek(feed)) === '')) return false
    reader.closable = false
    out(`${separator}${JSON.stringify(key)}${beforeColon}:`)
    if (colon) {
      out(yield* space(feed))
      if (!(yield* readValue(reader, propertyOf(declared, key)))) return false
    } else {
      out('null')
      reader.closable = true
    }
    const following = yield* readSeparator(reader)
    if (following === undefined) return false
    separator = following
  }
}

/** What stands next in an object or a list: its end, a member, or nothing that can be read. What only separates is skipped. */
function* memberAhead(reader: JsonReader, separator: string): Reading<'member' | 'end' | 'broken'> {
  const { feed } = reader
  while (true) {
    const next = yield* peek(feed)
    if (next === '') return 'broken'
    if (endsHere(reader, next, separator)) return 'end'
    if (!isStrayCloser(next) && next !== ',') return 'member'
    if (reader.strict) return 'broken'
    feed.at += 1
  }
}

function* readArray(reader: JsonReader, bracket: '[' | '(', declared: Declared): Reading<boolean> {
  const { feed, out } = reader
  feed.at += 1
  open(reader, '[', bracket === '[' ? ']' : ')')
  let separator = yield* space(feed)
  while (true) {
    const ahead = yield* memberAhead(reader, separator)
    if (ahead !== 'member') return ahead === 'end'
    out(separator)
    reader.closable = reader.closable && !separator.includes(',')
    if (!(yield* readValue(reader, itemOf(declared)))) return false
    const following = yield* readSeparator(reader)
    if (following === undefined) return false
    separator = following
  }
}

function open(reader: JsonReader, bracket: string, closer: string): void {
  reader.out(bracket)
  reader.closers.push(closer)
  reader.closable = true
}

/** Closes the innermost bracket if its closer is next, or one further out whose own was forgotten. */
function endsHere(reader: JsonReader, next: string, separator: string): boolean {
  const { closers, feed } = reader
  const closer = closers.at(-1)
  const own = next === closer
  if (!own && (reader.strict || !closers.includes(next))) return false
  if (own) feed.at += 1
  closers.pop()
  // A comma before the closer is what JSON does not allow; the white space around it may stay.
  reader.out(separator.replace(',', '') + (closer === '}' ? '}' : ']'))
  reader.closable = true
  return true
}

function isStrayCloser(char: string): boolean {
  return char === '}' || char === ']' || char === ')'
}

/** The comma and the space between two members; undefined at the end of the text, or where strictly there must be one. */
function* readSeparator({ feed, closers, strict }: JsonReader): Reading<string | undefined> {
  const before = yield* space(feed)
  const next = yield* peek(feed)
  if (next === '') return undefined
  if (next === closers.at(-1)) return before
  if (yield* accept(feed, ',')) return `${before},${yield* space(feed)}`
  if (strict) return undefined
  return isStrayCloser(next) ? before : `${before},`
}

function* readKey(reader: JsonReader): Reading<string | undefined> {
  const { feed } = reader
  const quote = yield* quoteHere(reader)
  if (quote !== undefined) {
    const key = collectText()
    const whole = yield* readString(feed, quote, key.out)
    return whole ? JSON.parse(`"${key.text}"`) : undefined
  }
  let key = ''
  while (true) {
    const next = yield* peek(feed)
    if (next === '') return undefined
    if (next === ':' || next === ',' || isStrayCloser(next)) break
    if (reader.strict && !/[\w.$-]/.test(next)) {
      // Space may stand between a key and its colon.
      return isSpace(next) && key !== '' ? key : undefined
    }
    key += next
    feed.at += 1
  }
  if (key === '') {
    // Nothing that could be a key: what is there is passed over.
    if (reader.strict) return undefined
    feed.at += 1
  }
  return key.trim()
}

/** A number, a word of JSON's or Python's, or, unless strict, any text up to the next comma, bracket or end of line. */
function* readToken(reader: JsonReader, declared: Declared): Reading<boolean> {
  const { feed, out, strict } = reader
  let token = ''
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || next === ',' || next === '\n' || (isStrayCloser(next) && reader.closers.includes(next))) break
    if (reader.closers.length === 0 && (isSpace(next) || next === '<' || isStrayCloser(next))) break
    if (strict && !/[\w.+-]/.test(next)) break
    token += next
    feed.at += 1
  }
  const trimmed = token.trimEnd()
  if (trimmed === '') {
    if (strict || feed.at >= feed.text.length) return false
    out(`null${token}`)
    reader.closable = true
    return true
  }
  const json = coerceToken(trimmed, allowedTypes(declared))
  if (json === undefined && strict) return false
  out((json ?? JSON.stringify(trimmed)) + token.slice(trimmed.length))
  reader.closable = true
  return true
}

/** A bracketed value where only text is declared: its source is that text. */
function* readAsText(reader: JsonReader): Reading<boolean> {
  const held = collectText()
  const inner = jsonReader(reader.feed, { ...reader, out: held.out })
  const whole = yield* readValue(inner, undefined)
  reader.out(whole ? JSON.stringify(held.text) : held.text)
  reader.closable = whole
  return whole
}

/** The JSON for a text where something else than text is declared; undefined when it reads as none of it. */
export function coerceText(text: string, types: ReadonlySet<JsonType> | undefined): string | undefined {
  const trimmed = text.trim()
  if (types === undefined) return readWhole(trimmed)
  const bracketed = (types.has('object') && trimmed.startsWith('{')) || (types.has('array') && trimmed.startsWith('['))
  return coerceScalar(trimmed, types) ?? (bracketed ? readWhole(trimmed) : undefined)
}

/** A text that is one value of JSON, or of Python near to it, from end to end. */
function readWhole(text: string): string | undefined {
  const feed = completeFeed(text)
  const json = collectText()
  const reader = jsonReader(feed, { out: json.out, strict: true })
  return readNow(readValue(reader, undefined)) && feed.at === text.length ? json.text : undefined
}
