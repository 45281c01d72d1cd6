import { readString } from '../scan/json-string.ts'
import { jsonReader, readValue } from '../scan/json-value.ts'
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
import { type CallReader, type CallWriter, declaredArguments, readArguments } from './call-writer.ts'

/** Reads `[f(a=1), g()]`, or calls without the brackets, up to one of the tags in `close`, if any. */
export function readPythonCalls(options: { readonly close?: readonly string[]; readonly bracket?: 'needed' } = {}): CallReader {
  const { close = [], bracket } = options
  return function* (writer) {
    const { feed } = writer
    const bracketed = (yield* acceptAfterSpace(feed, ['['])) !== undefined
    if (!bracketed && bracket === 'needed') return false
    yield* space(feed)
    if (!(yield* readItem(writer))) return false
    while (true) {
      feed.hold()
      const comma = yield* acceptAfterSpace(feed, [',', ';'])
      yield* space(feed)
      if ((comma !== undefined || !bracketed) && (yield* readItem(writer))) continue
      feed.rewind()
      break
    }
    if (bracketed) yield* acceptAfterSpace(feed, [']'])
    if (close.length > 0) yield* acceptAfterSpace(feed, close)
    return true
  }
}

/** One call, or a quoted string that contains one. */
function* readItem(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  const quote = yield* peek(feed)
  if (quote !== '"' && quote !== "'") return yield* readCallExpression(writer, feed)
  const quoted = collectText()
  if (!(yield* readString(feed, quote, quoted.out))) return false
  return yield* readCallExpression(writer, completeFeed(JSON.parse(`"${quoted.text}"`)))
}

/** Reads `name(key=value, …)`; values without a key belong to the properties in order of declaration. */
export function* readCallExpression(writer: CallWriter, feed: TextFeed = writer.feed): Reading<boolean> {
  const name = yield* readName(feed)
  // Llama 3 writes `NAME.call(…)` for its built-in tools.
  const tool = name === '' ? undefined : (writer.tool(name) ?? writer.tool(name.replace(/\.call$/, '')))
  if (tool === undefined || !(yield* accept(feed, '('))) return false
  yield* space(feed)
  if (!/[\w)"'[{(*-]/.test(yield* peek(feed))) return false
  writer.open(tool)
  if (yield* accept(feed, '**')) {
    // All arguments as one dictionary.
    if ((yield* peek(feed)) === '{' && (yield* readArguments(writer, tool, { feed }))) {
      yield* acceptAfterSpace(feed, [')'])
    }
    writer.close()
    return true
  }
  const declared = declaredArguments(tool)
  const names = propertyNames(declared)
  const reader = jsonReader(feed, { out: (text) => writer.arguments(text), strict: false, python: true })
  reader.closers.push(')')
  writer.arguments('{')
  reader.closable = true
  let separator = ''
  let position = 0
  let closed = false
  while (true) {
    yield* space(feed)
    closed = yield* accept(feed, ')')
    if (closed || (yield* peek(feed)) === '') break
    if (yield* accept(feed, ',')) continue
    const given = yield* readKeyword(feed)
    const key = given ?? names[position] ?? `argument${position + 1}`
    position += 1
    reader.closable = false
    writer.arguments(`${separator}${JSON.stringify(key)}: `)
    separator = ', '
    yield* space(feed)
    if (!(yield* readValue(reader, propertyOf(declared, key)))) break
  }
  if (closed) writer.arguments('}')
  else if (!feed.truncated && reader.closable) {
    const inner = reader.closers.slice(1).reverse()
    writer.arguments(`${inner.map((closer) => (closer === '}' ? '}' : ']')).join('')}}`)
  }
  writer.close()
  return true
}

function* readName(feed: TextFeed): Reading<string> {
  let name = ''
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || !/[\w.-]/.test(next)) return name
    name += next
    feed.at += 1
  }
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
