import type { FunctionTool } from '../../contract/request.ts'
import type { EndMarks } from '../scan/end-marks.ts'
import { readString } from '../scan/json-string.ts'
import { type JsonReader, jsonReader, missingClosers, readObject, readValue } from '../scan/json-value.ts'
import { propertyNames, propertyOf } from '../scan/schema-types.ts'
import {
  accept,
  acceptAfterSpace,
  collectText,
  completeFeed,
  isSpace,
  maxHeldChars,
  peek,
  type Reading,
  space,
  type TextFeed,
} from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, declaredArguments } from './call-writer.ts'
import { spellingsOf } from './find-tool.ts'
import { readItems, readSeparatorOf } from './list-items.ts'
import { acceptNoArguments, passOnRest, writeEmptyCall } from './read-arguments.ts'
import type { Trigger } from './tool-format.ts'
import { endMarks, turnEndMarks } from './turn-marks.ts'

/** Reads `[f(a=1), g()]`, or calls without the brackets, up to one of the tags in `close`, if any. */
export function readPythonCalls(options: { readonly close?: readonly string[]; readonly bracket?: 'needed' } = {}): CallReader {
  const { close = [], bracket } = options
  const ends = endMarks(close.map((tag) => ({ tag, before: [] })))
  return function* (writer) {
    const { feed } = writer
    const bracketed = (yield* acceptAfterSpace(feed, ['['])) !== undefined
    if (!bracketed && bracket === 'needed') return false
    yield* space(feed)
    const isMade = yield* readItems(writer, {
      readCall: () => readItem(writer, ends),
      readSeparator: () => readSeparatorOf(feed, ',;', bracketed),
      isCall: isExpression,
      bracketed,
    })
    if (!isMade) return false
    if (bracketed) yield* acceptAfterSpace(feed, [']'])
    if (close.length > 0) yield* acceptAfterSpace(feed, close)
    return true
  }
}

/** Calls like `f(a=1)` at the beginning of an answer. */
export function namedCalls(tools: readonly FunctionTool[]): readonly Trigger[] {
  const read = readPythonCalls()
  const names = tools.flatMap(({ name }) => spellingsOf(name))
  return names.map((name) => ({ tag: `${name}(`, position: 'start', keep: true, read }))
}

/** Whether a text is a name and brackets. */
export function isExpression(text: string): boolean {
  return /^[a-z_][\w.:/-]*\(/i.test(text)
}

/** One call, or a quoted string that contains one. */
function* readItem(writer: CallWriter, ends: EndMarks): Reading<boolean> {
  const { feed } = writer
  const quote = yield* peek(feed)
  if (quote !== '"' && quote !== "'") return yield* readCallExpression(writer, { ends })
  const quoted = collectText()
  feed.at += 1
  if (!(yield* readString(feed, { quote, out: quoted.out }))) return false
  return yield* readCallExpression(writer, { feed: completeFeed(JSON.parse(`"${quoted.text}"`)) })
}

/**
 * Reads `name(key=value, …)`; values without a key belong to the properties in order of declaration. A call that is not truncated is held
 * until all of it was read, so that an unreadable one stays text.
 */
export function* readCallExpression(
  writer: CallWriter,
  options: { readonly feed?: TextFeed; readonly ends?: EndMarks } = {},
): Reading<boolean> {
  const { feed = writer.feed, ends = turnEndMarks } = options
  const name = yield* readName(feed)
  const tool = name === '' ? undefined : writer.tool(name)
  if (tool === undefined || !(yield* accept(feed, '('))) return false
  yield* space(feed)
  if (!/[\w)"'[{(*-]/.test(yield* peek(feed))) return false
  // Mathematics and programs look like this, too.
  if (writer.isUndeclared(tool) && !writer.isTagged && !(yield* keywordIsNext(feed))) return false
  if (propertyNames(declaredArguments(tool)).length === 0 && (yield* acceptNoArguments(feed, tool, { ends: [')'] }))) {
    writeEmptyCall(writer, tool)
    yield* acceptAfterSpace(feed, [')'])
    return true
  }
  const from = feed.position
  const isWhole = yield* readBrackets(feed, tool, { ends, out: ignore, repaired: ignore })
  const isOpenEnd = (feed.truncated && feed.at === feed.text.length) || writer.feed.heldChars > maxHeldChars
  feed.at -= feed.position - from
  if (!isWhole && !isOpenEnd) return false
  writer.open(tool)
  if (feed !== writer.feed) writer.readFrom(feed)
  const isRead = yield* readBrackets(feed, tool, {
    ends,
    out: (text) => writer.arguments(text),
    repaired: () => writer.repaired(),
  })
  if (!isRead && feed.truncated && feed.at === feed.text.length) writer.passOn()
  else if (!isRead) yield* passOnRest(writer, feed, { ends, isPython: true })
  writer.close()
  return true
}

type Output = {
  /** The tags that end the call. */
  readonly ends: EndMarks
  out(text: string): void
  repaired(): void
}

/** Reads the arguments in the brackets of a call, and the closing one. False if their meaning is uncertain, or they end in the middle. */
function* readBrackets(feed: TextFeed, tool: FunctionTool, output: Output): Reading<boolean> {
  if (!(yield* accept(feed, '**'))) return yield* readKeywords(feed, tool, output)
  // All arguments as one dictionary.
  const reader = jsonReader(feed, { ...output, strict: false })
  if ((yield* peek(feed)) !== '{') return false
  if (!(yield* readObject(reader, declaredArguments(tool))) && !(yield* closeBrackets(reader, output))) return false
  yield* acceptAfterSpace(feed, [')'])
  return true
}

function* readKeywords(feed: TextFeed, tool: FunctionTool, output: Output): Reading<boolean> {
  const { ends, out } = output
  const declared = declaredArguments(tool)
  const names = propertyNames(declared)
  const reader = jsonReader(feed, { ...output, strict: false, python: true })
  reader.closers.push(')')
  out('{')
  reader.closable = true
  const keys = new Set<string>()
  while (true) {
    yield* space(feed)
    if (yield* accept(feed, ')')) {
      out('}')
      return true
    }
    if ((yield* peek(feed)) === '' || (yield* ends.areNext(feed))) break
    if (yield* accept(feed, ',')) continue
    reader.closable = false
    const written = yield* readKeyword(feed)
    const isFirst = keys.size === 0
    const key = written === undefined || (isFirst && isMisnamed(written, names, tool)) ? names[keys.size] : written
    if (key === undefined || keys.has(key)) return false
    out(`${isFirst ? '' : ', '}${JSON.stringify(key)}: `)
    keys.add(key)
    yield* space(feed)
    if (!(yield* readValue(reader, propertyOf(declared, key)))) break
  }
  reader.closers[0] = '}'
  return yield* closeBrackets(reader, output)
}

/** Writes the closing brackets that the model left out in front of the end of its call. False where something else is missing. */
function* closeBrackets(reader: JsonReader, { ends, out, repaired }: Output): Reading<boolean> {
  const { feed, closable } = reader
  const isAtEnd = feed.ended && !feed.truncated && feed.at === feed.text.length
  if (!closable || !(isAtEnd || (yield* ends.areNext(feed)))) return false
  repaired()
  out(missingClosers(reader))
  return true
}

function ignore(): void {
  // Only whether it is readable counts.
}

/** Tools that Llama was trained to call, even without the tag that should come first. */
export const llamaTools: ReadonlySet<string> = new Set(['brave_search', 'wolfram_alpha', 'photogen'])

/** Whether a model uses another name for the only parameter of a tool that it was trained to call. */
function isMisnamed(written: string, names: readonly string[], { name }: FunctionTool): boolean {
  return names.length === 1 && names[0] !== written && llamaTools.has(name)
}

function* readName(feed: TextFeed): Reading<string> {
  let name = ''
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || !/[\w.:/-]/.test(next)) return name
    name += next
    feed.at += 1
  }
}

/** Whether `key=`, `**` or the end of the arguments is next. */
function* keywordIsNext(feed: TextFeed): Reading<boolean> {
  if (/[*)]/.test(yield* peek(feed))) return true
  const from = feed.position
  const isKeyword = (yield* readKeyword(feed)) !== undefined
  feed.at -= feed.position - from
  return isKeyword
}

/** Consumes `key=` if it is next. */
function* readKeyword(feed: TextFeed): Reading<string | undefined> {
  let ahead = 0
  while (true) {
    const here = feed.text.slice(feed.at)
    while (ahead < here.length && /\w/.test(here[ahead] as string)) ahead += 1
    let after = ahead
    while (after < here.length && isSpace(here[after] as string)) after += 1
    if (after < here.length || feed.ended) {
      if (ahead === 0 || here[after] !== '=') return undefined
      feed.at += after + 1
      return here.slice(0, ahead)
    }
    yield
  }
}
