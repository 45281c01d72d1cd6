import { accept, acceptAfterSpace, followedBy, peek, type Reading, space, until } from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, readArguments } from './call-writer.ts'

/** Calls that begin with a name between marks, and go on with JSON. */
export type HeadedStyle = {
  /** The mark in front of each call, where the trigger is that of the whole block. */
  readonly begin: readonly string[]
  /** What ends the head. */
  readonly headEnds: readonly string[]
  /** Takes the head apart; undefined when it is none. */
  readHead(head: string): { readonly name: string; readonly id?: string } | undefined
  readonly end: readonly string[]
  readonly blockEnd: readonly string[]
}

/** A reader for what follows the mark of a block of such calls; `begun` where that mark is a call's own. */
export function readHeadedCalls(style: HeadedStyle, { begun }: { readonly begun: boolean }): CallReader {
  return function* (writer) {
    const { feed } = writer
    let made = false
    let first = true
    while (true) {
      if (made) feed.hold()
      const here = first && begun ? true : (yield* acceptAfterSpace(feed, style.begin)) !== undefined
      first = false
      if (!here || !(yield* readHeadedCall(writer, style))) break
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
    // The name stands on a line of its own after the mark, in front of the JSON.
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
    // Nothing at all stands for no arguments.
    if (!(yield* followedBy(feed, style.end)) || next === '') return false
    writer.open(tool, head.id)
    writer.arguments('{}')
    writer.close()
    yield* acceptAfterSpace(feed, style.end)
    return true
  }
  writer.open(tool, head.id)
  const whole = yield* readArguments(writer, tool)
  writer.close()
  if (!whole) return true
  if (fence !== undefined) yield* acceptAfterSpace(feed, ['```'])
  if (style.end.length > 0) yield* acceptAfterSpace(feed, style.end)
  return true
}
