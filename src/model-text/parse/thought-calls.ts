import type { CallWriter } from '../formats/call-writer.ts'
import type { Trigger } from '../formats/tool-format.ts'
import { maxHeldChars, type Reading, type TextFeed } from '../scan/text-feed.ts'

/**
 * The meaning of a call's opening tag inside reasoning: the call was read (`call`); the tag is the first of this many characters of the
 * reasoning; or the reasoning ends in front of it, and it is text (`text`).
 */
type ThoughtVerdict = 'call' | 'text' | { readonly reasoningChars: number }

/**
 * Decides whether calls in reasoning are made or only thought of. Models forget to close their reasoning in front of a call, and the
 * parsers of vLLM and SGLang then read the family's own opening tag as the end of it; but if the reasoning is closed, everything before its
 * closing tag is reasoning. So a call ends reasoning if it can be read and no closing tag follows. The call is held until that is certain,
 * within the limit of held text. In truncated reasoning, a call must also be the last thing. A call of a tool that may not be called ends
 * reasoning by the same rule, and is text.
 */
export class ThoughtCalls {
  readonly #feed: TextFeed
  readonly #calls: CallWriter
  readonly #close: string
  /** Everything up to this position is reasoning: the closing tag was found. */
  #reasoningTo = 0

  constructor(calls: CallWriter, close: string) {
    this.#feed = calls.feed
    this.#calls = calls
    this.#close = close
  }

  /** Reads the next tag, which is that of a trigger, and the calls after it. Consumes nothing, unless it is a call. */
  *read({ tag, keep = false, read }: Trigger): Reading<ThoughtVerdict> {
    const feed = this.#feed
    const calls = this.#calls
    if (feed.position < this.#reasoningTo) return { reasoningChars: tag.length }
    calls.attempt()
    calls.isTagged = true
    const before = calls.calls
    feed.hold()
    if (!keep) feed.at += tag.length
    const isRead = (yield* read(calls)) || calls.calls > before
    feed.release()
    calls.close()
    calls.endList(isRead)
    if (isRead && !(yield* this.#isClosed())) {
      const isCallable = calls.allAreCallable
      if (isCallable) calls.commit()
      else calls.giveUp()
      return isCallable ? 'call' : 'text'
    }
    const length = calls.giveUp()
    if (length === undefined) return 'call'
    return { reasoningChars: isRead ? length : tag.length }
  }

  /** Whether the reasoning is closed later. */
  *#isClosed(): Reading<boolean> {
    const feed = this.#feed
    let searched = 0
    while (true) {
      const found = feed.text.indexOf(this.#close, feed.at + searched)
      if (found !== -1) {
        this.#reasoningTo = feed.position + found - feed.at
        return true
      }
      const ahead = feed.text.length - feed.at
      if (feed.ended) return feed.truncated && feed.text.slice(feed.at).trim() !== ''
      if (ahead > maxHeldChars) return false
      searched = Math.max(0, ahead - this.#close.length + 1)
      yield
    }
  }
}
