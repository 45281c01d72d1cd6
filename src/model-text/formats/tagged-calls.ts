import { accept, acceptAfterSpace, peek, type Reading, space, type TextFeed, until, upcoming } from '../scan/text-feed.ts'
import { readCallList } from './call-object.ts'
import { type CallReader, type CallWriter, readArguments } from './call-writer.ts'
import { type ArgumentHead, type ElementStyle, readElements } from './elements.ts'

const wrapperEnds = ['</tool_call>', '</seed:tool_call>', '<tool_call>', '<seed:tool_call>', '<function=']

/** `<function=NAME><parameter=KEY>…</parameter></function>`, with or without line breaks between them. */
const functionStyle: ElementStyle = {
  head: '<parameter',
  readHead: readParameterHead,
  valueEnd: '</parameter>',
  callEnds: ['</function>'],
  wrapperEnds,
  ownLines: true,
}

/** `<function name="NAME"><param name="KEY">…</param></function>`. */
const shortFunctionStyle: ElementStyle = {
  ...functionStyle,
  head: '<param',
  valueEnd: '</param>',
  wrapperEnds: [...wrapperEnds, '<function'],
}

/**
 * `NAME<arg_key>KEY</arg_key><arg_value>…</arg_value></tool_call>`; some formats put something in front of each tag's name, or
 * behind it.
 */
export function argumentPairs({
  prefix = '',
  suffix = '',
}: {
  readonly prefix?: string
  readonly suffix?: string
}): ElementStyle {
  const tag = (name: string) => `<${prefix}${name}${suffix}>`
  const end = (name: string) => `</${prefix}${name}${suffix}>`
  return {
    head: tag('arg_key'),
    *readHead(feed) {
      const key = yield* until(feed, [end('arg_key')])
      if (key === undefined) return undefined
      yield* accept(feed, end('arg_key'))
      return (yield* acceptAfterSpace(feed, [tag('arg_value')])) === undefined ? undefined : { key: key.trim() }
    },
    valueEnd: end('arg_value'),
    callEnds: [end('tool_call')],
    wrapperEnds: [end('tool_calls'), tag('tool_call')],
  }
}

const pairs = argumentPairs({})
const readJson = readCallList({ close: ['</tool_call>'] })

/** Reads what follows `<tool_call>`: JSON, `<function=…>`, or a name and pairs or JSON. */
export function* readTaggedCall(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  const next = yield* peek(feed)
  if (next === '{' || next === '[') return yield* readJson(writer)
  if (next === '<') return (yield* accept(feed, '<function')) && (yield* readFunction(writer, { wrapped: true }))
  const name = yield* until(feed, ['\n', '<arg_key>', '{', '</tool_call>'], 512)
  return name !== undefined && (yield* readPairs(writer, { name: name.trim(), style: pairs }))
}

/** Reads the pairs, or the JSON, of a call whose name was read. */
export function* readPairs(writer: CallWriter, { name, style }: { name: string; style: ElementStyle }): Reading<boolean> {
  const { feed } = writer
  const tool = writer.tool(name)
  if (tool === undefined) return false
  yield* space(feed)
  if ((yield* peek(feed)) === '{') {
    writer.open(tool)
    const isComplete = yield* readArguments(writer, tool)
    writer.close()
    if (isComplete) yield* acceptAfterSpace(feed, style.callEnds)
    return true
  }
  if ((yield* upcoming(feed, [style.head, ...style.callEnds])) === undefined) return false
  writer.open(tool)
  yield* readElements(writer, tool, { style, wrapped: false })
  return true
}

/** Reads a call after `<function`, inside a wrapper or alone. */
function* readFunction(writer: CallWriter, { wrapped }: { wrapped: boolean }): Reading<boolean> {
  const { feed } = writer
  const head = yield* readParameterHead(feed)
  const tool = head && writer.tool(head.key)
  if (tool === undefined) return false
  yield* space(feed)
  const next = yield* peek(feed)
  writer.open(tool)
  if (next === '{') {
    const isComplete = yield* readArguments(writer, tool)
    writer.close()
    if (isComplete) yield* acceptAfterSpace(feed, ['</function>'])
  } else {
    const short = (yield* upcoming(feed, ['<parameter', '<param'])) === '<param'
    yield* readElements(writer, tool, { style: short ? shortFunctionStyle : functionStyle, wrapped })
  }
  yield* acceptAfterSpace(feed, ['</tool_call>', '</seed:tool_call>'])
  return true
}

/** Reads a call after `<function` that has no wrapper. */
export const readBareFunction: CallReader = (writer) => readFunction(writer, { wrapped: false })

/** Reads `=NAME>` or ` name="NAME">`, after the name of the tag. */
function* readParameterHead(feed: TextFeed): Reading<ArgumentHead | undefined> {
  const rest = yield* until(feed, ['>'], 512)
  if (rest === undefined) return undefined
  feed.at += 1
  const bare = /^=\s*["']?([^"'<>]*?)["']?\s*$/.exec(rest)
  const named = /^(?:eter)?\s+name\s*=\s*["']?([^"'<>]*?)["']?(?:\s.*)?$/s.exec(rest)
  const key = bare?.[1] ?? named?.[1]
  return key === undefined || key === '' ? undefined : { key }
}
