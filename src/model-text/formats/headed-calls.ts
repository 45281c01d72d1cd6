import type { FunctionTool } from '../../contract/request.ts'
import type { EndMarks } from '../scan/end-marks.ts'
import { jsonReader, readObject } from '../scan/json-value.ts'
import { propertyNames, requiredNames } from '../scan/schema-types.ts'
import { accept, acceptAfterSpace, collectText, peek, type Reading, space } from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, declaredArguments } from './call-writer.ts'
import { acceptNoArguments, objectIsNext, passOnTo, readArguments, readNameBefore } from './read-arguments.ts'
import { endMarks, turnEnds } from './turn-marks.ts'

type CallHead = { readonly name: string | undefined; readonly id?: string }

/** Calls with a head, which contains the name, and JSON after it. */
export type HeadedStyle = {
  /** The tags in front of each call, if the trigger is that of the block. */
  readonly begin: readonly string[]
  /** Any of these ends the head. */
  readonly headEnds: readonly string[]
  /** Reads a head; undefined when it is not one. Without a name, the arguments tell which tool is called. */
  readHead(head: string): CallHead | undefined
  readonly end: readonly string[]
  readonly blockEnd: readonly string[]
}

/** A reader for what follows the tag of a block of such calls or, if `begun`, the tag of a call. */
export function readHeadedCalls(style: HeadedStyle, { begun }: { readonly begun: boolean }): CallReader {
  const starts = [...style.begin, ...style.blockEnd]
  const ends = endMarks([
    ...style.end.map((tag) => ({ tag, before: starts })),
    ...style.blockEnd.map((tag) => ({ tag, before: [] })),
    ...style.begin.map((tag) => ({ tag, before: [] })),
  ])
  return function* (writer) {
    const { feed } = writer
    let made = false
    let first = true
    while (true) {
      if (made) feed.hold()
      const isNext = (first && begun) || (yield* acceptAfterSpace(feed, style.begin)) !== undefined
      first = false
      if (!isNext || !(yield* readHeadedCall(writer, style, ends))) break
      made = true
    }
    if (!made) return false
    feed.rewind()
    if (style.blockEnd.length > 0) yield* acceptAfterSpace(feed, style.blockEnd)
    return true
  }
}

function* readHeadedCall(writer: CallWriter, style: HeadedStyle, ends: EndMarks): Reading<boolean> {
  const { feed } = writer
  const nextTags = [...style.end, ...style.begin, ...style.blockEnd, ...turnEnds]
  const text = yield* readNameBefore(feed, [...style.headEnds, '{', ...nextTags], 1024)
  if (text === undefined) return false
  for (const end of style.headEnds) if (yield* accept(feed, end)) break
  let head = style.readHead(text.trim())
  if (head === undefined) return false
  yield* space(feed)
  if (head.name === '') {
    // The name is on a line of its own, in front of the JSON.
    const line = yield* readNameBefore(feed, ['\n', '```', '{', ...nextTags])
    if (line === undefined) return false
    head = { ...head, name: line.trim() }
    yield* space(feed)
  }
  const tool = head.name === undefined ? yield* inferTool(writer) : writer.tool(head.name)
  if (tool === undefined) return false
  const fence = yield* acceptAfterSpace(feed, ['```json', '```'])
  const after = [...(fence === undefined ? [] : ['```']), ...nextTags]
  const isEmpty = yield* acceptNoArguments(feed, tool, { ends: after })
  yield* space(feed)
  const next = yield* peek(feed)
  if ((next === '' && !isEmpty) || (next === '{' && !(yield* objectIsNext(feed)))) return false
  writer.open(tool, head.id)
  if (isEmpty) writer.arguments('{}')
  else if (next === '{') yield* readArguments(writer, tool, { ends })
  else yield* passOnTo(writer, nextTags)
  writer.close()
  if (fence !== undefined) yield* acceptAfterSpace(feed, ['```'])
  if (style.end.length > 0) yield* acceptAfterSpace(feed, style.end)
  return true
}

/** The only tool that declares all arguments of the next object, and requires no others. Does not consume the object. */
function* inferTool(writer: CallWriter): Reading<FunctionTool | undefined> {
  const { feed } = writer
  const ahead = feed.heldChars
  const json = collectText()
  const isComplete = yield* readObject(jsonReader(feed, { out: json.out, strict: true }), undefined)
  feed.at -= feed.heldChars - ahead
  if (!isComplete) return undefined
  const keys = Object.keys(JSON.parse(json.text))
  const fitting = writer.tools.filter((tool) => {
    const declared = declaredArguments(tool)
    const names = propertyNames(declared)
    return keys.every((key) => names.includes(key)) && requiredNames(declared).every((name) => keys.includes(name))
  })
  return fitting.length === 1 ? fitting[0] : undefined
}
