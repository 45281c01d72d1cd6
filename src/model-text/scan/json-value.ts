import { type EndMarks, noEndMarks } from './end-marks.ts'
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

/** The reading of one value: where its JSON goes, and what is missing if the text ends inside it. */
export type JsonReader = {
  readonly feed: TextFeed
  /** Receives JSON for everything read so far. */
  out(text: string): void
  /** The text is not JSON of the declared type, but its meaning is certain. */
  repaired(): void
  /** Fails on anything but JSON and Python literals, and on missing commas and brackets. */
  readonly strict: boolean
  /** Tags that end the reading, even inside a string. */
  readonly ends: EndMarks
  /** A delimiter of strings without escapes, in addition to the usual quotes; keys and words then need no quotes. */
  readonly rawQuote?: string
  /** Python's quotes and literals are not repairs, and triple quotes are quotes too. */
  readonly python?: boolean
  /** The most brackets that may be open; default 256. */
  readonly maxDepth?: number
  /** The closing brackets that would complete the value, innermost last. */
  closers: string[]
  /** The text so far ends after a value or an opening bracket: only closing brackets are missing. */
  closable: boolean
}

/** Sets up the reading of one value. */
export function jsonReader(
  feed: TextFeed,
  options: Pick<JsonReader, 'out' | 'strict' | 'rawQuote' | 'python' | 'maxDepth'> &
    Partial<Pick<JsonReader, 'repaired' | 'ends'>>,
): JsonReader {
  return { feed, closers: [], closable: false, repaired: ignore, ends: noEndMarks, ...options }
}

/** Ignores repairs of values that are only tried. */
function ignore(): void {
  // Nothing to report.
}

/** The closing brackets that are missing. */
export function missingClosers({ closers }: JsonReader): string {
  return closers
    .toReversed()
    .map((closer) => (closer === '}' ? '}' : ']'))
    .join('')
}

const defaultMaxDepth = 256

/**
 * Reads one value in JSON or close to it (single quotes, trailing commas, bare keys, Python's literals) and writes JSON as it reads. A
 * value of another type than declared is converted if that is safe. False if the text or an end mark comes first, or if the meaning is
 * uncertain: keys and values are never invented.
 */
export function* readValue(reader: JsonReader, declared: Declared): Reading<boolean> {
  const { feed } = reader
  if (feed.heldChars > maxHeldChars) return false
  const next = yield* peek(feed)
  if (yield* reader.ends.areNext(feed)) return false
  if (next === '{' || next === '[' || next === '(') {
    if (reader.closers.length >= (reader.maxDepth ?? defaultMaxDepth)) return false
    const types = allowedTypes(declared)
    const wanted = next === '{' ? 'object' : 'array'
    if (types?.has('string') && !types.has(wanted)) return yield* readAsText(reader)
    return next === '{' ? yield* readObject(reader, declared) : yield* readArray(reader, next, declared)
  }
  const quote = yield* nextQuote(reader)
  return quote === undefined ? yield* readToken(reader, declared) : yield* readQuoted(reader, { quote, declared })
}

/** The next quote, which is not consumed. */
function* nextQuote({ feed, rawQuote, python }: JsonReader): Reading<string | undefined> {
  const next = yield* peek(feed)
  if (next === '"' || next === "'") return python === true ? yield* upcoming(feed, [next.repeat(3), next]) : next
  if (rawQuote === undefined || next !== rawQuote[0]) return undefined
  return yield* upcoming(feed, [rawQuote])
}

function* readQuoted(reader: JsonReader, { quote, declared }: { quote: string; declared: Declared }): Reading<boolean> {
  const { feed, ends } = reader
  const types = allowedTypes(declared)
  const converts = types !== undefined && !types.has('string')
  const held = collectText()
  const out = converts ? held.out : reader.out
  const repaired = reader.python === true ? undefined : () => reader.repaired()
  reader.closable = false
  if (quote === "'" && reader.python !== true) reader.repaired()
  feed.at += quote.length
  out('"')
  if (!(yield* readString(feed, { quote, out, repaired, ends }))) return false
  out('"')
  if (converts) {
    const converted = coerceText(JSON.parse(held.text), types)
    if (converted !== undefined) reader.repaired()
    reader.out(converted ?? held.text)
  }
  reader.closable = true
  return true
}

/** Reads an object, whose `{` is next. */
export function* readObject(reader: JsonReader, declared: Declared): Reading<boolean> {
  const { feed, out } = reader
  if (!(yield* accept(feed, '{'))) return false
  open(reader, '{', '}')
  let separator = yield* space(feed)
  // Templates double brackets, and models imitate that.
  const isDoubled = !reader.strict && (yield* accept(feed, '{'))
  if (isDoubled) {
    reader.repaired()
    separator += yield* space(feed)
  }
  while (true) {
    const next = yield* nextMember(reader, separator)
    if (next === 'end' && isDoubled) yield* accept(feed, '}')
    if (next !== 'member') return next === 'end'
    reader.closable = false
    const key = yield* readKey(reader)
    if (key === undefined) return false
    const beforeColon = yield* space(feed)
    if (!(yield* accept(feed, ':'))) return false
    out(`${separator}${key}${beforeColon}:`)
    out(yield* space(feed))
    if (!(yield* readValue(reader, propertyOf(declared, JSON.parse(key))))) return false
    const following = yield* readSeparator(reader)
    if (following === undefined) return false
    separator = following
  }
}

/** The next thing in an object or an array: its end, a member, or something unreadable. Extra separators are skipped. */
function* nextMember(reader: JsonReader, separator: string): Reading<'member' | 'end' | 'broken'> {
  const { feed, ends } = reader
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || (yield* ends.areNext(feed))) return 'broken'
    if (endsHere(reader, next, separator)) return 'end'
    if (!isStrayCloser(next) && next !== ',') return 'member'
    if (reader.strict) return 'broken'
    reader.repaired()
    feed.at += 1
  }
}

function* readArray(reader: JsonReader, bracket: '[' | '(', declared: Declared): Reading<boolean> {
  const { feed, out } = reader
  feed.at += 1
  if (bracket === '(' && reader.python !== true) reader.repaired()
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
  const forgotten = separator.includes(',') && reader.python !== true
  if (!own || forgotten) reader.repaired()
  // JSON does not allow a comma before the closer; the white space around it stays.
  reader.out(separator.replace(',', '') + (closer === '}' ? '}' : ']'))
  reader.closable = true
  return true
}

function isStrayCloser(char: string): boolean {
  return char === '}' || char === ']' || char === ')'
}

/** The comma and the space between two members; undefined at the end of the text or, if strict, if the comma is missing. */
function* readSeparator(reader: JsonReader): Reading<string | undefined> {
  const { feed, closers, strict } = reader
  const before = yield* space(feed)
  const next = yield* peek(feed)
  if (next === '') return undefined
  if (next === closers.at(-1)) return before
  if (yield* accept(feed, ',')) return `${before},${yield* space(feed)}`
  if (strict) return undefined
  if (isStrayCloser(next) || (yield* reader.ends.areNext(feed))) return before
  reader.repaired()
  return `${before},`
}

function* readKey(reader: JsonReader): Reading<string | undefined> {
  const { feed, ends, rawQuote } = reader
  const quote = yield* nextQuote(reader)
  if (quote !== undefined) {
    const key = collectText()
    if (quote === "'" && reader.python !== true) reader.repaired()
    const repaired = () => reader.repaired()
    feed.at += quote.length
    return (yield* readString(feed, { quote, out: key.out, repaired, ends })) ? `"${key.text}"` : undefined
  }
  let key = ''
  while (true) {
    const next = yield* peek(feed)
    if (!/[\w.$-]/.test(next)) break
    key += next
    feed.at += 1
  }
  if (rawQuote === undefined) reader.repaired()
  return key === '' ? undefined : JSON.stringify(key)
}

/** A number, a literal of JSON or Python or, if words are strings, any text up to the next comma, bracket or end of line. */
function* readToken(reader: JsonReader, declared: Declared): Reading<boolean> {
  const { feed, out, strict, ends, rawQuote, python } = reader
  let token = ''
  reader.closable = false
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || next === ',' || next === '\n' || (isStrayCloser(next) && reader.closers.includes(next))) break
    if (reader.closers.length === 0 && (isSpace(next) || next === '<' || isStrayCloser(next))) break
    if (strict && !/[\w.+-]/.test(next)) break
    if (yield* ends.areNext(feed)) break
    token += next
    feed.at += 1
  }
  const trimmed = token.trimEnd()
  if (trimmed === '') return false
  const types = allowedTypes(declared)
  const json = coerceToken(trimmed, types)
  const mayBeText = !strict && (rawQuote !== undefined || types?.has('string') === true)
  // A word at the end of the text may be the beginning of another.
  if (json === undefined && (!mayBeText || feed.at === feed.text.length)) return false
  const written = json ?? JSON.stringify(trimmed)
  const isNative = python === true ? json !== undefined : rawQuote !== undefined
  if (written !== trimmed && !isNative) reader.repaired()
  out(written + token.slice(trimmed.length))
  reader.closable = true
  return true
}

/** A bracketed value where only a string is declared: its JSON becomes the string. */
function* readAsText(reader: JsonReader): Reading<boolean> {
  const held = collectText()
  const inner = jsonReader(reader.feed, { ...reader, out: held.out })
  reader.closable = false
  if (!(yield* readValue(inner, undefined))) return false
  reader.repaired()
  reader.out(JSON.stringify(held.text))
  reader.closable = true
  return true
}

/** The JSON of a text whose declared types include more than strings; undefined if it is a value of neither type. */
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

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The JSON of a text that is an allowed number, boolean or null; undefined for any other text. */
function coerceScalar(text: string, types: ReadonlySet<JsonType>): string | undefined {
  if ((types.has('number') || types.has('integer')) && jsonNumber.test(text)) return text
  if (types.has('boolean') && /^(?:true|false)$/i.test(text)) return text.toLowerCase()
  if (types.has('null') && /^(?:null|none)$/i.test(text)) return 'null'
  return undefined
}

/** The JSON of an unquoted word inside JSON; undefined when it is not a literal of JSON or Python. */
function coerceToken(token: string, types: ReadonlySet<JsonType> | undefined): string | undefined {
  const textWanted = types?.has('string') === true
  if (jsonNumber.test(token)) {
    return textWanted && !types.has('number') && !types.has('integer') ? JSON.stringify(token) : token
  }
  if (token === 'null' || token === 'None') return 'null'
  if (token === 'true' || token === 'True' || token === 'false' || token === 'False') {
    const literal = token.toLowerCase()
    return textWanted && !types.has('boolean') ? JSON.stringify(literal) : literal
  }
  return undefined
}
