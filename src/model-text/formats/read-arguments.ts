import type { FunctionTool } from '../../contract/request.ts'
import type { EndMarks } from '../scan/end-marks.ts'
import { jsonReader, missingClosers, readObject } from '../scan/json-value.ts'
import { passTo } from '../scan/pass-to.ts'
import { propertyNames, requiredNames } from '../scan/schema-types.ts'
import { followedBy, maxHeldChars, peek, type Reading, space, type TextFeed, until, upcoming } from '../scan/text-feed.ts'
import { type CallWriter, declaredArguments } from './call-writer.ts'
import { turnEndMarks } from './turn-marks.ts'

type ArgumentsOptions = {
  /** The source of the arguments, if not the text of the choice. */
  readonly feed?: TextFeed
  readonly rawQuote?: string
  /** The tags that end the arguments, besides those that end a turn. */
  readonly ends?: EndMarks
}

/**
 * Reads the arguments of the open call, an object that follows, by the one rule for all formats:
 * - Arguments in JSON are passed on unchanged.
 * - Other spellings with a certain meaning become JSON, and so do values of another type than declared: the call is `repaired`.
 * So is one that the model ended without closing brackets, after a complete value.
 * - Arguments that a limit truncated are passed on unchanged.
 * - Everything else is `unparseable`: it is passed on unchanged, up to a tag that ends it or its last closing bracket.
 *
 * Returns whether the end was found: false if the text ended first.
 */
export function* readArguments(writer: CallWriter, tool: FunctionTool, options: ArgumentsOptions = {}): Reading<boolean> {
  const { feed = writer.feed, rawQuote, ends = turnEndMarks } = options
  if (feed !== writer.feed) writer.readFrom(feed)
  const reader = jsonReader(feed, {
    out: (text) => writer.arguments(text),
    repaired: () => writer.repaired(),
    strict: false,
    ends,
    ...(rawQuote !== undefined && { rawQuote }),
  })
  let isEnded = yield* readObject(reader, declaredArguments(tool))
  if (!isEnded) {
    const isAtEnd = feed.at === feed.text.length && feed.ended
    isEnded = !isAtEnd
    if (isAtEnd && feed.truncated) writer.passOn()
    else if (reader.closable && (isAtEnd || (yield* ends.areNext(feed)))) {
      writer.repaired()
      writer.arguments(missingClosers(reader))
    } else isEnded = yield* passOnRest(writer, feed, { ends })
  }
  writer.endArguments()
  return isEnded
}

/** Whether an object follows. One that the model began before ending its text does not count: such a call is not made. */
export function* objectIsNext(feed: TextFeed): Reading<boolean> {
  yield* space(feed)
  if ((yield* peek(feed)) !== '{') return false
  return !(yield* followedBy(feed, [], 1)) || feed.truncated
}

/**
 * Consumes an expression for no arguments, or nothing, in front of one of these tags, or at the end of the text if the tool has no
 * parameters. `atEnd`: also if it requires none, for calls without a tag at their end.
 */
export function* acceptNoArguments(
  feed: TextFeed,
  tool: FunctionTool,
  { ends, atEnd = false }: { readonly ends: readonly string[]; readonly atEnd?: boolean },
): Reading<boolean> {
  const before = yield* space(feed)
  const word = yield* upcoming(feed, nothing)
  const length = word?.length ?? 0
  const isNext = yield* followedBy(feed, ends, length)
  const isEnd = feed.ended && feed.text.slice(feed.at + length).trim() === ''
  const declared = declaredArguments(tool)
  const needsNone = requiredNames(declared).length === 0 && (atEnd || propertyNames(declared).length === 0)
  const mayEnd = needsNone && !feed.truncated
  const isEmpty = isNext && (!isEnd || mayEnd)
  feed.at += isEmpty ? length : -before.length
  return isEmpty
}

/** Consumes a name before the first of `stops`, or before the end of the text if the model ended it. */
export function* readNameBefore(feed: TextFeed, stops: readonly string[], limit = 512): Reading<string | undefined> {
  const name = yield* until(feed, stops, limit)
  if (name !== undefined || !feed.ended || feed.truncated || feed.text.length - feed.at > limit) return name
  const rest = feed.text.slice(feed.at)
  feed.at = feed.text.length
  return rest
}

/** Words for no arguments. */
const nothing = ['null', 'None', '""', "''"]

/** Writes a call without arguments. */
export function writeEmptyCall(writer: CallWriter, tool: FunctionTool, id?: string): void {
  writer.open(tool, id)
  writer.arguments('{}')
  writer.close()
}

/** Passes on unreadable arguments, up to their last closing bracket or an end mark; false if the text ends first. */
export function* passOnRest(
  writer: CallWriter,
  feed: TextFeed,
  { ends, isPython = false }: { readonly ends: EndMarks; readonly isPython?: boolean },
): Reading<boolean> {
  const depth = new BracketDepth(feed.recorded(), isPython)
  writer.unparseable()
  while ((yield* peek(feed)) !== '' && feed.heldChars <= maxHeldChars && !(yield* ends.areNext(feed))) {
    let end = feed.at + 1
    let isLast = depth.closes(feed.text[feed.at] as string)
    while (!isLast && end < feed.text.length && !ends.firstChars.includes(feed.text[end] as string)) {
      isLast = depth.closes(feed.text[end] as string)
      end += 1
    }
    const passed = feed.text.slice(feed.at, end)
    feed.at = end
    writer.arguments(passed)
    if (isLast) return true
  }
  return feed.at < feed.text.length
}

/** Passes on the text up to one of these tags, or to the end, as unreadable arguments. */
export function* passOnTo(writer: CallWriter, tags: readonly string[]): Reading<void> {
  writer.unparseable()
  yield* passTo(writer.feed, tags, (text) => writer.arguments(text))
  writer.endArguments()
}

/** Follows brackets and strings, as far as broken JSON has any. */
class BracketDepth {
  #depth = 0
  #quote = ''
  #escaped = false
  readonly #isPython: boolean

  /** In Python the bracket of the call is open, and round brackets and single quotes count too. */
  constructor(text: string, isPython: boolean) {
    this.#isPython = isPython
    this.#depth = isPython ? 1 : 0
    for (const char of text) this.closes(char)
  }

  /** Whether this character closes the last open bracket. */
  closes(char: string): boolean {
    if (this.#escaped) this.#escaped = false
    else if (this.#quote !== '') {
      if (char === '\\') this.#escaped = true
      else if (char === this.#quote) this.#quote = ''
    } else if (char === '"' || (this.#isPython && char === "'")) this.#quote = char
    else if (char === '{' || char === '[' || (this.#isPython && char === '(')) this.#depth += 1
    else if (char === '}' || char === ']' || (this.#isPython && char === ')')) {
      this.#depth -= 1
      return this.#depth <= 0
    }
    return false
  }
}
