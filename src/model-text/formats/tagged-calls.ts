import { accept, acceptAfterSpace, peek, type Reading, space, type TextFeed, until, upcoming } from '../scan/text-feed.ts'
import { readCallList } from './call-object.ts'
import type { CallReader, CallWriter } from './call-writer.ts'
import { type ArgumentHead, type ElementStyle, readElements } from './elements.ts'
import { acceptNoArguments, objectIsNext, readArguments, readNameBefore, writeEmptyCall } from './read-arguments.ts'
import { endMarks, turnEnds } from './turn-marks.ts'

const wrapperEnds = ['</tool_call>', '</seed:tool_call>', '<tool_call>', '<seed:tool_call>', '<function=', '<function name=']

/** `<function=NAME><parameter=KEY>…</parameter></function>`, with or without line breaks between them. */
const functionStyle: ElementStyle = {
  head: '<parameter',
  readHead: readParameterHead,
  valueEnd: '</parameter>',
  callEnds: ['</function>'],
  wrapperEnds,
  ownLines: true,
}

/** As `functionStyle`, with unchanged values on the line of their tags: Seed OSS. */
const inlineFunctionStyle: ElementStyle = { ...functionStyle, ownLines: false }

/** `<function name="NAME"><param name="KEY">…</param></function>`. */
const shortFunctionStyle: ElementStyle = {
  ...functionStyle,
  ownLines: false,
  cdata: true,
  head: '<param',
  valueEnd: '</param>',
  wrapperEnds: [...wrapperEnds, '<function'],
}

/** `NAME<arg_key>KEY</arg_key><arg_value>…</arg_value></tool_call>`; some formats add something before or after each tag's name. */
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
const callBegins = ['{"name"', "{'name'", '{ "name"', '{"arguments"', '<function=']
const readJson = readCallList({ close: ['</tool_call>'], ends: [{ tag: '<tool_call>', before: callBegins }] })

/** Reads what follows `<tool_call>`: JSON, `<function=…>`, or a name and pairs or JSON. */
export const readTaggedCall: CallReader = (writer) => readTagged(writer, functionStyle)

/** As `readTaggedCall`, with unchanged values in `<parameter=…>`. */
export const readInlineTaggedCall: CallReader = (writer) => readTagged(writer, inlineFunctionStyle)

function* readTagged(writer: CallWriter, style: ElementStyle): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  const next = yield* peek(feed)
  if (next === '{' || next === '[') return yield* readJson(writer)
  if (next === '<') return (yield* accept(feed, '<function')) && (yield* readFunction(writer, style))
  const name = yield* readNameBefore(feed, ['\n', '<arg_key>', '{', '</tool_call>', '<tool_call>', ...turnEnds])
  return name !== undefined && (yield* readPairs(writer, { name: name.trim(), style: pairs }))
}

/** Reads the pairs, or the JSON, of a call whose name was read. */
export function* readPairs(writer: CallWriter, { name, style }: { name: string; style: ElementStyle }): Reading<boolean> {
  const { feed } = writer
  const tool = writer.tool(name)
  if (tool === undefined) return false
  if (yield* acceptNoArguments(feed, tool, { ends: [...style.callEnds, ...style.wrapperEnds, ...turnEnds] })) {
    writeEmptyCall(writer, tool)
    yield* acceptAfterSpace(feed, style.callEnds)
    return true
  }
  yield* space(feed)
  if ((yield* peek(feed)) === '{') {
    if (!(yield* objectIsNext(feed))) return false
    writer.open(tool)
    const ends = style.callEnds.map((tag) => ({ tag, before: style.wrapperEnds }))
    yield* readArguments(writer, tool, { ends: endMarks([...ends, ...style.wrapperEnds.map((tag) => ({ tag, before: [] }))]) })
    writer.close()
    yield* acceptAfterSpace(feed, style.callEnds)
    return true
  }
  if ((yield* upcoming(feed, [style.head, ...style.callEnds])) === undefined) return false
  writer.open(tool)
  yield* readElements(writer, tool, style)
  return true
}

const functionEnds = endMarks([{ tag: '</function>', before: [...wrapperEnds, '<function'] }])

/** Reads a call after `<function`, inside a wrapper or alone. */
function* readFunction(writer: CallWriter, style: ElementStyle): Reading<boolean> {
  const { feed } = writer
  const head = yield* readParameterHead(feed)
  const tool = head && writer.tool(head.key)
  if (tool === undefined) return false
  if (yield* acceptNoArguments(feed, tool, { ends: ['</function>', ...wrapperEnds, ...turnEnds] })) {
    writeEmptyCall(writer, tool)
    yield* acceptAfterSpace(feed, ['</function>'])
    yield* acceptAfterSpace(feed, ['</tool_call>', '</seed:tool_call>'])
    return true
  }
  yield* space(feed)
  const next = yield* peek(feed)
  if (next === '' ? !feed.truncated : next === '{' && !(yield* objectIsNext(feed))) return writer.unfinished()
  writer.open(tool)
  if (next === '{') {
    yield* readArguments(writer, tool, { ends: functionEnds })
    writer.close()
    yield* acceptAfterSpace(feed, ['</function>'])
  } else {
    const short = (yield* upcoming(feed, ['<parameter', '<param'])) === '<param'
    yield* readElements(writer, tool, short ? shortFunctionStyle : style)
  }
  yield* acceptAfterSpace(feed, ['</tool_call>', '</seed:tool_call>'])
  return true
}

/** Reads a call after `<function` without a wrapper. */
export const readBareFunction: CallReader = (writer) => readFunction(writer, functionStyle)

/** As `readBareFunction`, with unchanged values in `<parameter=…>`. */
export const readInlineFunction: CallReader = (writer) => readFunction(writer, inlineFunctionStyle)

/** Reads `=NAME>` or ` name="NAME">`, after the name of the tag. */
function* readParameterHead(feed: TextFeed): Reading<ArgumentHead | undefined> {
  const rest = yield* until(feed, ['>'], 512)
  if (rest === undefined) return undefined
  feed.at += 1
  const bare = /^\s*=\s*["']?([^"'<>]*?)["']?\s*$/.exec(rest)
  const named = /^(?:eter)?\s+name\s*=\s*["']?([^"'<>]*?)["']?(?:\s.*)?$/s.exec(rest)
  const key = bare?.[1] ?? named?.[1]
  return key === undefined || key === '' ? undefined : { key }
}
