import { accept, acceptAfterSpace, followedBy, peek, type Reading, space, until } from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, readArguments } from './call-writer.ts'

/** Calls with a head, which has the name, and JSON after it. */
export type HeadedStyle = {
  /** The tag in front of each call, where the trigger is that of the block. */
  readonly begin: readonly string[]
  /** Any of these ends the head. */
  readonly headEnds: readonly string[]
  /** Reads a head; undefined when it is not one. */
  readHead(head: string): { readonly name: string; readonly id?: string } | undefined
  readonly end: readonly string[]
  readonly blockEnd: readonly string[]
}

/** A reader for what follows the tag of a block of such calls or, if `begun`, the tag of a call. */
export function readHeadedCalls(style: HeadedStyle, { begun }: { readonly begun: boolean }): CallReader {
  return function* (writer) {
    const { feed } = writer
    let made = false
    let first = true
    while (true) {
      if (made) feed.hold()
      const isNext = (first && begun) || (yield* acceptAfterSpace(feed, style.begin)) !== undefined
      first = false
      if (!isNext || !(yield* readHeadedCall(writer, style))) break
      made = true
    }
    if (!made) return false
    feed.rewind()
    if (style.blockEnd.length > 0) yield* acceptAfterSpace(feed, style.blockEnd)
    return true
  }
}

function* readHeadedCall(writer: CallWriter, style: HeadedStyle): Reading<boolean> {
  const { feed } = writer
  const text = yield* until(feed, style.headEnds, 1024)
  if (text === undefined) return false
  for (const end of style.headEnds) if (yield* accept(feed, end)) break
  let head = style.readHead(text.trim())
  if (head === undefined) return false
  yield* space(feed)
  if (head.name === '') {
    // The name is on a line of its own, in front of the JSON.
    const line = yield* until(feed, ['\n', '```', '{'], 512)
    if (line === undefined) return false
    head = { ...head, name: line.trim() }
    yield* space(feed)
  }
  const tool = writer.tool(head.name)
  if (tool === undefined) return false
  const fence = yield* acceptAfterSpace(feed, ['```json', '```'])
  yield* space(feed)
  const next = yield* peek(feed)
  if (next !== '{') {
    // A call without JSON has no arguments.
    if (!(yield* followedBy(feed, style.end)) || next === '') return false
    writer.open(tool, head.id)
    writer.arguments('{}')
    writer.close()
    yield* acceptAfterSpace(feed, style.end)
    return true
  }
  writer.open(tool, head.id)
  const isComplete = yield* readArguments(writer, tool)
  writer.close()
  if (!isComplete) return true
  if (fence !== undefined) yield* acceptAfterSpace(feed, ['```'])
  if (style.end.length > 0) yield* acceptAfterSpace(feed, style.end)
  return true
}
