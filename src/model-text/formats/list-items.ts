import { peek, type Reading, space, type TextFeed } from '../scan/text-feed.ts'
import type { CallWriter } from './call-writer.ts'

type ListReader = {
  /** Reads the next call. False without one, even if some of the text was consumed. */
  readCall(): Reading<boolean>
  /** Consumes a separator between two calls; false if no other call can follow. */
  readSeparator(): Reading<boolean>
  /** Whether this is the text of a call, even of a tool that may not be called. */
  isCall(text: string): boolean
  /** The list has an opening bracket: text that a limit truncated is part of it. */
  readonly bracketed: boolean
}

/**
 * Reads the calls of a list. A call of another tool is text, and the calls after it are read. False, with nothing opened, for a list
 * without calls. Separators at the end of the text do not belong to it.
 */
export function* readItems(writer: CallWriter, list: ListReader): Reading<boolean> {
  const { feed } = writer
  let made = false
  while (true) {
    feed.starved = false
    const from = feed.position
    const isMade = yield* list.readCall()
    if (!isMade) {
      const isCut = feed.truncated && feed.starved
      feed.at -= feed.position - from
      if (isCut && made && list.bracketed) {
        feed.at = feed.text.length
        break
      }
      const other = yield* readBalanced(feed)
      if (!list.isCall(other)) {
        if (made) feed.rewind()
        break
      }
      writer.skip(other)
    }
    made ||= isMade
    // Until a call is opened, the text is held from its first tag on.
    if (made) feed.hold()
    if (!(yield* list.readSeparator())) {
      if ((yield* peek(feed)) !== '' && made) feed.rewind()
      break
    }
  }
  return made
}

/** Consumes a name, if any, and the following brackets, up to the one that closes them. */
function* readBalanced(feed: TextFeed): Reading<string> {
  let text = ''
  let depth = 0
  let quote = ''
  while (true) {
    const next = yield* peek(feed)
    if (next === '' || (depth === 0 && !/[\w.:/({-]/.test(next))) return ''
    text += next
    feed.at += 1
    if (quote !== '') {
      if (next === '\\') {
        text += yield* peek(feed)
        feed.at += 1
      } else if (next === quote) quote = ''
    } else if (next === '"' || next === "'") quote = next
    else if ('([{'.includes(next)) depth += 1
    else if (')]}'.includes(next)) {
      depth -= 1
      if (depth === 0) return text
    }
  }
}

/** Consumes one of these, and the white space around it; false at the end of the text. */
export function* readSeparatorOf(feed: TextFeed, separators: string, isNeeded: boolean): Reading<boolean> {
  yield* space(feed)
  const next = yield* peek(feed)
  const isThere = next !== '' && separators.includes(next)
  if (isThere) feed.at += 1
  yield* space(feed)
  return (isThere || !isNeeded) && (yield* peek(feed)) !== ''
}
