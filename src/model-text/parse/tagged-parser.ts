import type { CallWriter } from '../formats/call-writer.ts'
import type { Trigger } from '../formats/tool-format.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import { accept, acceptAfterSpace, followedBy, maxHeldChars, type Reading, space, type TextFeed } from '../scan/text-feed.ts'
import { AnswerWriter } from './answer-writer.ts'
import type { AnswerTag, TaggedRules } from './choice-rules.ts'
import { spanEnd } from './code-tracker.ts'
import { ReasoningReader } from './reasoning-reader.ts'
import type { ReasoningTags } from './reasoning-tags.ts'
import { TagDropper } from './tag-dropper.ts'
import { matchTag, truncatedTag } from './tags.ts'
import { tryCall } from './try-call.ts'

/** Reads the text of a choice in which tags begin calls and reasoning, from beginning to end. */
export class TaggedParser {
  readonly #feed: TextFeed
  readonly #sink: ChoiceSink
  readonly #calls: CallWriter
  readonly #rules: TaggedRules
  readonly #answer: AnswerWriter
  readonly #dropper: TagDropper
  readonly #reasoning: ReasoningReader
  /** After the beginning of an unreadable call. */
  #isInBrokenCall = false
  /** Whether the next character is likely to be reasoning. */
  inReasoning: boolean

  constructor(calls: CallWriter, sink: ChoiceSink, rules: TaggedRules) {
    this.#feed = calls.feed
    this.#sink = sink
    this.#calls = calls
    this.#rules = rules
    this.#answer = new AnswerWriter(sink, { holdsSpace: rules.reasoning !== undefined })
    calls.onText = (text) => {
      if (calls.calls > 0) this.#answer.callEnded()
      this.#answer.write(text)
    }
    this.#dropper = new TagDropper(calls.feed, this.#answer, rules.answerTags)
    this.#reasoning = new ReasoningReader({
      calls,
      sink,
      answer: this.#answer,
      rules,
      onClosed: () => {
        this.inReasoning = false
      },
    })
    this.inReasoning = rules.startsInReasoning && !rules.reasoningIsText
  }

  /** Reads all of the text; yields to wait for more of it. */
  *read(): Reading<void> {
    const feed = this.#feed
    const { prefix, reasoning, startsInReasoning } = this.#rules
    this.#sink.text(prefix)
    if (reasoning !== undefined && startsInReasoning) {
      if (this.inReasoning) yield* this.#passRepeatedOpen(reasoning)
      yield* this.#readReasoning(reasoning)
    }
    while (true) {
      if (this.#isEndOfCall()) break
      const answerTags = this.#isInBrokenCall ? this.#rules.brokenCallTags : this.#rules.answerTags
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
      if (next !== 'no-tag' && (yield* this.#mayCount(next.value)) && (yield* this.#readTag(next.tag, next.value))) continue
      // The tag may have turned out to be code.
      if (feed.at > at || feed.at === feed.text.length) continue
      if (this.#isTruncatedCall()) break
      this.#answer.write(feed.text[feed.at] as string)
      feed.at += 1
    }
    this.#answer.end()
  }

  /** Whether the next tag counts here. If it is in a code span, the span is passed over. */
  *#mayCount(value: AnswerTag): Reading<boolean> {
    const { code } = this.#answer
    if (!this.#answer.allows(value.position)) return false
    if (value.type === 'dropped' && value.only === 'last') return true
    return !code.inFence && (code.openSpan === 0 || !(yield* this.#passSpan()))
  }

  /** Passes over the code span that the text is in. False, with nothing consumed, if it has no end. */
  *#passSpan(): Reading<boolean> {
    const feed = this.#feed
    const { code } = this.#answer
    while (true) {
      const ahead = feed.text.length - feed.at
      // A run at the end may become longer.
      const end = spanEnd(feed.text, feed.at, code.openSpan)
      if (end !== -1 && (end < feed.text.length || feed.ended)) {
        this.#answer.write(feed.text.slice(feed.at, end))
        feed.at = end
        return true
      }
      if (feed.ended || ahead > maxHeldChars || /\n[ \t\r]*\n/.test(feed.text.slice(feed.at))) {
        code.dropSpan()
        return false
      }
      yield
    }
  }

  /** Reads the next tag and what it begins. False, with nothing consumed, if it is text. */
  *#readTag(tag: string, value: AnswerTag): Reading<boolean> {
    switch (value.type) {
      case 'dropped':
        if (!(yield* this.#dropper.drop(tag, value))) return false
        this.#calls.blockIsOpen = false
        this.#answer.inBlock = false
        return true
      case 'call':
        if (!(yield* tryCall(this.#calls, value.trigger, this.#rules.callRequired))) return yield* this.#dropBegin(value.trigger)
        this.#isInBrokenCall = false
        this.#answer.callEnded()
        this.#answer.inBlock = this.#calls.blockIsOpen
        return true
      case 'reasoning':
        this.#feed.at += tag.length
        if (this.#rules.reasoningIsText) this.#answer.write(tag)
        else {
          yield* this.#passLabel(value.tags)
          this.#answer.reasoningStarted()
          this.inReasoning = true
          yield* space(this.#feed)
        }
        yield* this.#readReasoning(value.tags)
        return true
    }
  }

  /**
   * Drops the special token of a tag that begins no call: in front of the name of a callable tool whose call is unreadable; or directly
   * after a call, with only other tags after it. False, with nothing consumed, if the tag is text.
   */
  *#dropBegin({ tag, keep = false, position }: Trigger): Reading<boolean> {
    const feed = this.#feed
    const { callTokens, brokenCallTags } = this.#rules
    const token = callTokens.find((each) => tag.startsWith(each))
    if (token === undefined || keep || position !== 'anywhere') return false
    if (this.#calls.named) {
      this.#isInBrokenCall = true
      feed.at += token.length
    } else {
      const tags = brokenCallTags.list.filter(({ value }) => value.position === 'anywhere').map((each) => each.tag)
      if (!this.#answer.isAfterCall || !(yield* followedBy(feed, tags, tag.length))) return false
      feed.at += tag.length
    }
    yield* space(feed)
    return true
  }

  *#readReasoning(tags: ReasoningTags): Reading<void> {
    yield* this.#reasoning.read(tags)
    this.inReasoning = false
  }

  /** Whether the rest of a truncated text is the beginning of a tag that ends the call before it. */
  #isEndOfCall(): boolean {
    const { cutAt, position } = this.#feed
    return cutAt !== -1 && position >= cutAt && this.#answer.isAfterCall
  }

  /** Whether the rest of a truncated text is the beginning of a call. Two or three characters of a tag may be anything. */
  #isTruncatedCall(): boolean {
    const begun = truncatedTag(this.#rules.answerTags, this.#feed)
    if (begun === undefined) return false
    if (this.#rules.callRequired || this.#answer.isAfterCall) return true
    return begun.value.type === 'call' && begun.value.position === 'anywhere' && this.#feed.text.length - this.#feed.at > 3
  }

  /** Passes over the label of an opening tag, and over the tag itself once more. */
  *#passLabel({ open, label }: ReasoningTags): Reading<void> {
    if (label === undefined) return
    while (yield* accept(this.#feed, open)) {
      // Gemma 4 repeats it in front of the label.
    }
    yield* accept(this.#feed, label)
  }

  /**
   * A model may repeat the tag at the end of its prompt, which is then not text. With only white space between it and the closing tag it is
   * the model's whole reply, and stays.
   */
  *#passRepeatedOpen(tags: ReasoningTags): Reading<void> {
    const feed = this.#feed
    const { open, close } = tags
    feed.hold()
    if ((yield* acceptAfterSpace(feed, [open])) !== undefined) {
      yield* this.#passLabel(tags)
      const after = yield* space(feed)
      if (after !== '' && (yield* acceptAfterSpace(feed, [close])) !== undefined) {
        this.#sink.reasoning(open + after)
        feed.at -= close.length
      }
    }
    feed.release()
  }
}
