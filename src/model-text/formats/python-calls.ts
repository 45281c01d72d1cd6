import type { FunctionTool } from '../../contract/request.ts'
import type { EndMarks } from '../scan/end-marks.ts'
import { readString } from '../scan/json-string.ts'
import { jsonReader, missingClosers, readValue } from '../scan/json-value.ts'
import { propertyNames, propertyOf } from '../scan/schema-types.ts'
import {
  accept,
  acceptAfterSpace,
  collectText,
  completeFeed,
  isSpace,
  peek,
  type Reading,
  space,
  type TextFeed,
} from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, declaredArguments } from './call-writer.ts'
import { spellingsOf } from './find-tool.ts'
import { readItems, readSeparatorOf } from './list-items.ts'
import { acceptNoArguments, passOnRest, readArguments, writeEmptyCall } from './read-arguments.ts'
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

/** Reads `name(key=value, …)`; values without a key belong to the properties in order of declaration. */
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
  if (yield* accept(feed, '**')) {
    // All arguments as one dictionary.
    const isObject = (yield* peek(feed)) === '{'
    writer.open(tool)
    if (isObject && (yield* readArguments(writer, tool, { feed, ends }))) yield* acceptAfterSpace(feed, [')'])
    writer.close()
    return true
  }
  if (propertyNames(declaredArguments(tool)).length === 0 && (yield* acceptNoArguments(feed, tool, { ends: [')'] }))) {
    writeEmptyCall(writer, tool)
    yield* acceptAfterSpace(feed, [')'])
    return true
  }
  writer.open(tool)
  if (feed !== writer.feed) writer.readFrom(feed)
  yield* readKeywords(writer, tool, { feed, ends })
  writer.close()
  return true
}

/** Reads the arguments of the open call and the bracket after them. */
function* readKeywords(
  writer: CallWriter,
  tool: FunctionTool,
  { feed, ends }: { readonly feed: TextFeed; readonly ends: EndMarks },
): Reading<void> {
  const declared = declaredArguments(tool)
  const names = propertyNames(declared)
  const reader = jsonReader(feed, {
    out: (text) => writer.arguments(text),
    repaired: () => writer.repaired(),
    strict: false,
    python: true,
    ends,
  })
  reader.closers.push(')')
  writer.arguments('{')
  reader.closable = true
  let separator = ''
  let position = 0
  while (true) {
    yield* space(feed)
    if (yield* accept(feed, ')')) {
      writer.arguments('}')
      return
    }
    if ((yield* peek(feed)) === '' || (yield* ends.areNext(feed))) break
    if (yield* accept(feed, ',')) continue
    reader.closable = false
    const written = yield* readKeyword(feed)
    const key = written === undefined || isMisnamed(written, names, tool) ? names[position] : written
    if (key === undefined) break
    position += 1
    writer.arguments(`${separator}${JSON.stringify(key)}: `)
    separator = ', '
    yield* space(feed)
    if (!(yield* readValue(reader, propertyOf(declared, key)))) break
  }
  const isAtEnd = feed.ended && feed.at === feed.text.length
  if (isAtEnd && feed.truncated) writer.passOn()
  else if (reader.closable && (isAtEnd || (yield* ends.areNext(feed)))) {
    writer.repaired()
    reader.closers.shift()
    writer.arguments(`${missingClosers(reader)}}`)
  } else yield* passOnRest(writer, feed, { ends, isPython: true })
}

/** Tools that Llama was trained to call, also without the tag that should come first. */
export const llamaTools: ReadonlySet<string> = new Set(['brave_search', 'wolfram_alpha', 'photogen'])

/** Whether a model gives the only parameter of a tool that it was trained to call another name. */
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
