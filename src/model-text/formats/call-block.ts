import { acceptAfterSpace } from '../scan/text-feed.ts'
import type { CallReader } from './call-writer.ts'

/** A reader for what follows the tag of a block: calls, each after `begin`, up to one of the tags in `end`. */
export function readBlockOf(block: {
  readonly begin: string
  readonly end: readonly string[]
  readonly read: CallReader
}): CallReader {
  const begin = [block.begin]
  return function* (writer) {
    const { feed } = writer
    let made = false
    while (true) {
      if (made) feed.hold()
      if ((yield* acceptAfterSpace(feed, begin)) === undefined || !(yield* block.read(writer))) break
      made = true
    }
    if (!made) return false
    feed.rewind()
    yield* acceptAfterSpace(feed, block.end)
    return true
  }
}
