import type { MessageSyntax } from '../formats/tool-format.ts'
import { accept, ensure, isQuote, type Reading, type TextFeed, until } from '../scan/text-feed.ts'

/** No header of a message is longer. */
const longestHeader = 1024

/** The header that is next, without the mark that ends it: `cut-off` with the answer, or none at all. Nothing is consumed. */
export function* findHeader(feed: TextFeed, { start, body, ends }: MessageSyntax): Reading<string | 'cut-off' | undefined> {
  feed.hold()
  yield* accept(feed, start)
  // Another mark in front of the body's says that it was none.
  const found = yield* until(feed, [body, start, ...ends], longestHeader)
  const length = feed.heldChars
  const whole = found !== undefined && (yield* accept(feed, body))
  feed.rewind()
  if (whole) return feed.text.slice(feed.at, feed.at + length)
  return found === undefined && feed.truncated && feed.text.length - feed.at <= longestHeader ? 'cut-off' : undefined
}

/** Whether the mark that is next has the same quote on both sides: then it is spoken of. */
export function* isQuoted(feed: TextFeed, { tag, previous }: { tag: string; previous: string }): Reading<boolean> {
  return isQuote(previous) && (yield* ensure(feed, tag.length + 1)) && feed.text[feed.at + tag.length] === previous
}
