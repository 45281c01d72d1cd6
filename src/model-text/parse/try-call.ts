import type { CallWriter } from '../formats/call-writer.ts'
import type { Trigger } from '../formats/tool-format.ts'
import type { Reading } from '../scan/text-feed.ts'

/**
 * Reads the calls that the next tag, which is that of a trigger, may begin. False, with nothing consumed, if the tag is text. A call that
 * was truncated before its name was certain is consumed: its markup is not text.
 */
export function* tryCall(
  writer: CallWriter,
  { tag, position, keep = false, read: readCalls }: Trigger,
  callRequired: boolean,
): Reading<boolean> {
  const { feed } = writer
  feed.hold()
  feed.starved = false
  // Without a tag it may be text.
  const isTagged = !keep && position === 'anywhere'
  writer.isTagged = isTagged
  writer.named = false
  if (!keep) feed.at += tag.length
  const before = writer.calls
  const isRead = yield* readCalls(writer)
  writer.endList(isRead)
  const isOpened = isRead || writer.calls > before
  // The reader was waiting for more of the call when the text was truncated.
  const isLeftOut = !isOpened && feed.truncated && feed.starved && (callRequired || isTagged)
  if (isLeftOut) feed.at = feed.text.length
  if (isRead || isLeftOut) feed.release()
  else feed.rewind()
  // A call that the end of the text interrupted is still open.
  if (isOpened) writer.close()
  return isRead || isLeftOut
}
