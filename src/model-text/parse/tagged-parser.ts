import type { CallWriter } from '../formats/call-writer.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import { acceptAfterSpace, type Reading, space, type TextFeed } from '../scan/text-feed.ts'
import { AnswerWriter } from './answer-writer.ts'
import type { AnswerTag, TaggedRules } from './choice-rules.ts'
import type { ReasoningTags } from './reasoning-tags.ts'
import { ReasoningWriter } from './reasoning-writer.ts'
import { TagDropper } from './tag-dropper.ts'
import { isTruncatedTag, matchTag } from './tags.ts'
import { tryCall } from './try-call.ts'

/** Reads the text of a choice in which tags begin calls and reasoning, from beginning to end. */
export class TaggedParser {
  readonly #feed: TextFeed
  readonly #sink: ChoiceSink
  readonly #calls: CallWriter
  readonly #rules: TaggedRules
  readonly #answer: AnswerWriter
  readonly #dropper: TagDropper
  /** Whether the next character is likely to be reasoning. */
  inReasoning: boolean

  constructor(calls: CallWriter, sink: ChoiceSink, rules: TaggedRules) {
    this.#feed = calls.feed
    this.#sink = sink
    this.#calls = calls
    this.#rules = rules
    this.#answer = new AnswerWriter(sink)
    this.#dropper = new TagDropper(calls.feed, this.#answer, rules.answerTags)
    this.inReasoning = rules.startsInReasoning
  }

  /** Reads all of the text; yields to wait for more of it. */
  *read(): Reading<void> {
    const feed = this.#feed
    const { answerTags, callRequired, prefix, reasoning } = this.#rules
    this.#sink.text(prefix)
    if (reasoning !== undefined && this.inReasoning) {
      yield* this.#passRepeatedOpen(reasoning)
      yield* this.#readReasoning(reasoning)
    }
    while (true) {
      const at = answerTags.search(feed.text, feed.at)
      if (at > feed.at) {
        this.#answer.write(feed.text.slice(feed.at, at))
        feed.at = at
      }
      if (at === feed.text.length) {
        if (feed.ended) break
        yield
        continue
      }
      const next = matchTag(answerTags, feed)
      if (next === 'wait') {
        yield
        continue
      }
      const mayCount = next !== 'no-tag' && this.#answer.allows(next.value.position)
      if (mayCount && (yield* this.#readTag(next.tag, next.value))) continue
      if (callRequired && isTruncatedTag(answerTags, feed)) break
      this.#answer.write(feed.text[feed.at] as string)
      feed.at += 1
    }
    this.#answer.end()
  }

  /** Reads the tag that is next and what it begins. False, with nothing consumed, when it is text. */
  *#readTag(tag: string, value: AnswerTag): Reading<boolean> {
    switch (value.type) {
      case 'dropped':
        return yield* this.#dropper.drop(tag, value)
      case 'call':
        if (!(yield* tryCall(this.#calls, value.trigger, this.#rules.callRequired))) return false
        this.#answer.callEnded()
        return true
      case 'reasoning':
        this.#feed.at += tag.length
        this.#answer.reasoningStarted()
        this.inReasoning = true
        yield* space(this.#feed)
        yield* this.#readReasoning(value.tags)
        return true
    }
  }

  /** Reads reasoning up to its end, also a closing tag. A call interrupts it: what follows is reasoning until it is closed. */
  *#readReasoning({ trimAfter }: ReasoningTags): Reading<void> {
    const feed = this.#feed
    const { reasoningTags } = this.#rules
    let writer = new ReasoningWriter(this.#sink)
    while (true) {
      const at = reasoningTags.search(feed.text, feed.at)
      if (at > feed.at) {
        writer.write(feed.text.slice(feed.at, at))
        feed.at = at
      }
      if (at === feed.text.length) {
        if (feed.ended) break
        yield
        continue
      }
      const next = matchTag(reasoningTags, feed)
      if (next === 'wait') {
        yield
        continue
      }
      if (next !== 'no-tag' && next.value.type === 'close') {
        feed.at += next.tag.length
        this.#endReasoning()
        if (trimAfter) yield* space(feed)
        return
      }
      if (next !== 'no-tag' && next.value.type === 'call') {
        this.#calls.sawName = false
        if (yield* tryCall(this.#calls, next.value.trigger, this.#rules.callRequired)) {
          writer = new ReasoningWriter(this.#sink)
          continue
        }
        if (this.#calls.sawName) {
          // A call that names no callable tool is text, but not reasoning.
          writer.endUnclosed()
          this.#endReasoning()
          return
        }
      }
      writer.write(feed.text[feed.at] as string)
      feed.at += 1
    }
    writer.endUnclosed()
  }

  #endReasoning(): void {
    this.inReasoning = false
    this.#sink.closeBlock()
    this.#answer.reasoningEnded()
  }

  /**
   * A model may repeat the tag that its prompt ended with, which is not text then. With nothing between it and the closing tag it
   * is all that the model said, and stays.
   */
  *#passRepeatedOpen({ open, close }: ReasoningTags): Reading<void> {
    const feed = this.#feed
    feed.hold()
    if ((yield* acceptAfterSpace(feed, [open])) === undefined) {
      feed.release()
      return
    }
    const after = yield* space(feed)
    if ((yield* acceptAfterSpace(feed, [close])) !== undefined) {
      this.#sink.reasoning(open + after)
      feed.at -= close.length
    }
    feed.release()
  }
}
