import type { TextFeed } from '../scan/text-feed.ts'
import { peek, type Reading, space } from '../scan/text-feed.ts'
import type { AnswerWriter } from './answer-writer.ts'
import type { AnswerTag } from './choice-rules.ts'
import { matchTag, type TagSet } from './tags.ts'

/** Removes tags without a meaning of their own from an answer, unless they are text. */
export class TagDropper {
  readonly #feed: TextFeed
  readonly #answer: AnswerWriter
  readonly #tags: TagSet<AnswerTag>
  /** Dropped tags that have not been closed since. */
  readonly #dropped = new Set<string>()

  constructor(feed: TextFeed, answer: AnswerWriter, tags: TagSet<AnswerTag>) {
    this.#feed = feed
    this.#answer = answer
    this.#tags = tags
  }

  /** Drops the next tag. False, with nothing consumed, if it is text. */
  *drop(tag: string, { only }: Extract<AnswerTag, { type: 'dropped' }>): Reading<boolean> {
    if (only === 'last') return yield* this.#dropLast()
    if (only === 'first' && !(this.#answer.isEmpty && this.#dropped.size === 0)) return false
    if (typeof only === 'object' && !this.#dropped.delete(only.closes)) return false
    this.#dropped.add(tag)
    this.#feed.at += tag.length
    if (only === 'header') yield* space(this.#feed)
    return true
  }

  /**
   * Passes over all tags that are dropped only at the end, with the space around them: they are text if anything else follows, other than
   * the header of another turn of the model.
   */
  *#dropLast(): Reading<true> {
    const feed = this.#feed
    feed.hold()
    while ((yield* peek(feed)) !== '') {
      const next = matchTag(this.#tags, feed)
      if (next === 'wait') {
        yield
        continue
      }
      const isLast = next !== 'no-tag' && next.value.type === 'dropped' && next.value.only === 'last'
      if (isLast) feed.at += next.tag.length
      else if (next !== 'no-tag' && next.value.type === 'dropped' && next.value.only === 'header') {
        feed.at += next.tag.length
        yield* space(feed)
        break
      } else if ((yield* space(feed)) === '') {
        const length = feed.heldChars
        feed.rewind()
        this.#answer.write(feed.text.slice(feed.at, feed.at + length))
        feed.at += length
        return true
      }
    }
    feed.release()
    return true
  }
}
