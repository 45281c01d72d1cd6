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

/** The reading of one value: where its JSON goes, and what is missing when the text ends inside it. */
type JsonReader = {
  readonly feed: TextFeed
  out(text: string): void
  /** Fails on what is neither JSON nor a Python literal. Otherwise everything is turned into some JSON. */
  readonly strict: boolean
  /** A delimiter of strings in which nothing is escaped, in addition to the usual quotes. */
  readonly rawQuote?: string
  /** Triple quotes are quotes too. */
  readonly python?: boolean
  /** The most brackets that may be open; 128 by default. */
  readonly maxDepth?: number
  /** The closing brackets that would complete the value, innermost last. */
  closers: string[]
  /** The text so far ends after a value or an opening bracket: only closing brackets are missing. */
  closable: boolean
}

/** Sets up the reading of one value. */
export function jsonReader(
  feed: TextFeed,
  options: Pick<JsonReader, 'out' | 'strict' | 'rawQuote' | 'python' | 'maxDepth'>,
): JsonReader {
  return { feed, closers: [], closable: false, ...options }
}

const defaultMaxDepth = 128

/**
 * Reads one value in JSON or close to it (single quotes, trailing commas, bare keys, Python's literals) and writes JSON as it
 * reads. A value of another type than declared is converted where that is safe. False when the text ends first or, if strict,
 * when it is not a value.
 */
export function* readValue(reader: JsonReader, declared: Declared): Reading<boolean> {
  const { feed } = reader
  if (feed.heldChars > maxHeldChars) return false
  const next = yield* peek(feed)
  if (next === '{' || next === '[' || next === '(') {
    if (reader.closers.length >= (reader.maxDepth ?? defaultMaxDepth)) return yield* readToken(reader, declared)
    const types = allowedTypes(declared)
    const wanted = next === '{' ? 'object' : 'array'
    if (types?.has('string') && !types.has(wanted)) return yield* readAsText(reader)
    return next === '{' ? yield* readObject(reader, declared) : yield* readArray(reader, next, declared)
  }
  const quote = yield* nextQuote(reader)
  return quote === undefined ? yield* readToken(reader, declared) : yield* readQuoted(reader, { quote, declared })
}

/** The quote that is next, which is not consumed. */
function* nextQuote({ feed, rawQuote, python }: JsonReader): Reading<string | undefined> {
  const next = yield* peek(feed)
  if (next === '"' || next === "'") return python === true ? yield* upcoming(feed, [next.repeat(3), next]) : next
  if (rawQuote === undefined || next !== rawQuote[0]) return undefined
  return yield* upcoming(feed, [rawQuote])
}

function* readQuoted(reader: JsonReader, { quote, declared }: { quote: string; declared: Declared }): Reading<boolean> {
  const types = allowedTypes(declared)
  const converts = types !== undefined && !types.has('string')
  const held = collectText()
  const out = converts ? held.out : reader.out
  reader.closable = false
  out('"')
  if (!(yield* readString(reader.feed, quote, out))) {
    if (converts) reader.out(held.text)
    return false
  }
  out('"')
  if (converts) reader.out(coerceText(JSON.parse(held.text), types) ?? held.text)
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
    const next = yield* nextMember(reader, separator)
    if (next !== 'member') return next === 'end'
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

/** What is next in an object or an array: its end, a member, or something unreadable. Extra separators are skipped. */
function* nextMember(reader: JsonReader, separator: string): Reading<'member' | 'end' | 'broken'> {
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
    const next = yield* nextMember(reader, separator)
    if (next !== 'member') return next === 'end'
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

/** Closes the innermost bracket if its closer is next, or if an outer closer is next because the model forgot this one. */
function endsHere(reader: JsonReader, next: string, separator: string): boolean {
  const { closers, feed } = reader
  const closer = closers.at(-1)
  const own = next === closer
  if (!own && (reader.strict || !closers.includes(next))) return false
  if (own) feed.at += 1
  closers.pop()
  // JSON does not allow a comma before the closer; the white space around it stays.
  reader.out(separator.replace(',', '') + (closer === '}' ? '}' : ']'))
  reader.closable = true
  return true
}

function isStrayCloser(char: string): boolean {
  return char === '}' || char === ']' || char === ')'
}

/** The comma and the space between two members; undefined at the end of the text or, if strict, where the comma is missing. */
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
  const quote = yield* nextQuote(reader)
  if (quote !== undefined) {
    const key = collectText()
    const isComplete = yield* readString(feed, quote, key.out)
    return isComplete ? JSON.parse(`"${key.text}"`) : undefined
  }
  let key = ''
  while (true) {
    const next = yield* peek(feed)
    if (next === '') return undefined
    if (next === ':' || next === ',' || isStrayCloser(next)) break
    if (reader.strict && !/[\w.$-]/.test(next)) {
      // There may be space between a key and its colon.
      return isSpace(next) && key !== '' ? key : undefined
    }
    key += next
    feed.at += 1
  }
  if (key === '') {
    // Not a key: the character is skipped.
    if (reader.strict) return undefined
    feed.at += 1
  }
  return key.trim()
}

/** A number, a literal of JSON or Python or, unless strict, any text up to the next comma, bracket or end of line. */
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

/** A bracketed value where only a string is declared: its JSON becomes the string. */
function* readAsText(reader: JsonReader): Reading<boolean> {
  const held = collectText()
  const inner = jsonReader(reader.feed, { ...reader, out: held.out })
  const isComplete = yield* readValue(inner, undefined)
  reader.out(isComplete ? JSON.stringify(held.text) : held.text)
  reader.closable = isComplete
  return isComplete
}

/** The JSON of a text of which other types than string are declared; undefined when it is a value of none of them. */
export function coerceText(text: string, types: ReadonlySet<JsonType> | undefined): string | undefined {
  const trimmed = text.trim()
  if (types === undefined) return readComplete(trimmed)
  const bracketed = (types.has('object') && trimmed.startsWith('{')) || (types.has('array') && trimmed.startsWith('['))
  return coerceScalar(trimmed, types) ?? (bracketed ? readComplete(trimmed) : undefined)
}

/** The JSON of a text that is one value from end to end, in JSON or close to it. */
function readComplete(text: string): string | undefined {
  const feed = completeFeed(text)
  const json = collectText()
  const reader = jsonReader(feed, { out: json.out, strict: true })
  return readNow(readValue(reader, undefined)) && feed.at === text.length ? json.text : undefined
}
