import type { MessageSyntax } from '../formats/tool-format.ts'
import { accept, ensure, isQuote, type Reading, type TextFeed, until } from '../scan/text-feed.ts'

/** No header of a message is longer. */
const maxHeaderChars = 1024

/**
 * The header that is next, without the delimiter that ends it; `truncated` when the answer was cut off inside it. Nothing is
 * consumed.
 */
export function* findHeader(feed: TextFeed, { start, body, ends }: MessageSyntax): Reading<string | 'truncated' | undefined> {
  feed.hold()
  yield* accept(feed, start)
  // A header does not contain another delimiter.
  const found = yield* until(feed, [body, start, ...ends], maxHeaderChars)
  const length = feed.heldChars
  const isComplete = found !== undefined && (yield* accept(feed, body))
  feed.rewind()
  if (isComplete) return feed.text.slice(feed.at, feed.at + length)
  return found === undefined && feed.truncated && feed.text.length - feed.at <= maxHeaderChars ? 'truncated' : undefined
}

/** Whether the delimiter that is next has the same quote on both sides: then it is only mentioned. */
export function* isQuoted(feed: TextFeed, { delimiter, previous }: { delimiter: string; previous: string }): Reading<boolean> {
  return isQuote(previous) && (yield* ensure(feed, delimiter.length + 1)) && feed.text[feed.at + delimiter.length] === previous
}
