import type { CallWriter } from '../formats/call-writer.ts'
import type { Trigger } from '../formats/tool-format.ts'
import { turnEnds } from '../formats/turn-marks.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import { acceptAfterSpace, followedBy, isSpace, type Reading, space, type TextFeed } from '../scan/text-feed.ts'
import type { AnswerWriter } from './answer-writer.ts'
import type { TaggedRules } from './choice-rules.ts'
import { CodeTracker } from './code-tracker.ts'
import type { ReasoningTags } from './reasoning-tags.ts'
import { matchTag } from './tags.ts'
import { ThoughtCalls } from './thought-calls.ts'
import { tryCall } from './try-call.ts'

type ReaderParts = {
  readonly calls: CallWriter
  readonly sink: ChoiceSink
  readonly answer: AnswerWriter
  readonly rules: TaggedRules
  /** Called as soon as the reasoning is closed. */
  onClosed(): void
}

/** Reads reasoning, after its opening tag, up to its end. If it is not separated, it is text of the answer. */
export class ReasoningReader {
  readonly #feed: TextFeed
  readonly #parts: ReaderParts

  constructor(parts: ReaderParts) {
    this.#feed = parts.calls.feed
    this.#parts = parts
  }

  *read(tags: ReasoningTags): Reading<void> {
    const feed = this.#feed
    const { reasoningTags, reasoningIsText } = this.#parts.rules
    const thoughtCalls = new ThoughtCalls(this.#parts.calls, tags.close)
    const code = new CodeTracker()
    const split = reasoningIsText ? undefined : new ReasoningWriter(this.#parts.sink)
    const write = (text: string) => {
      code.push(text)
      if (split === undefined) this.#parts.answer.write(text)
      else split.write(text)
      feed.at += text.length
    }
    while (true) {
      const at = reasoningTags.search(feed.text, feed.at)
      if (at > feed.at) write(feed.text.slice(feed.at, at))
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
      if (next !== 'no-tag') {
        const { tag, value } = next
        // Code that is quoted in thoughts has tags that mean nothing.
        const isInCode = code.inFence || code.openSpan > 0
        if (value.type === 'close') {
          yield* this.#close(tags)
          return
        }
        if (value.type === 'answer' && !isInCode) {
          this.#end()
          return
        }
        if (value.type === 'turn-end' && (yield* followedBy(feed, turnEnds, tag.length)) && (yield* this.#passTurnEnds())) break
        if (value.type === 'dropped' && !isInCode) {
          feed.at += tag.length
          continue
        }
        if (value.type === 'call' && !isInCode) {
          const hasEnded = yield* this.#readCall(value.trigger, {
            thoughtCalls,
            write,
            end: () => split?.endUnclosed(),
            resume: () => split?.resume(),
          })
          if (hasEnded) return
          continue
        }
      }
      write(feed.text[feed.at] as string)
    }
    split?.endUnclosed()
  }

  /** Reads the next tag, which is that of a call. Returns whether it ends the reasoning. */
  *#readCall(
    trigger: Trigger,
    reasoning: { readonly thoughtCalls: ThoughtCalls; write(text: string): void; end(): void; resume(): void },
  ): Reading<boolean> {
    const feed = this.#feed
    const { calls, sink, answer, rules } = this.#parts
    if (rules.makesThoughtCalls) {
      const isCall = yield* tryCall(calls, trigger, false)
      if (isCall) {
        answer.callEnded()
        reasoning.resume()
      } else reasoning.write(feed.text.slice(feed.at, feed.at + trigger.tag.length))
      return false
    }
    const verdict = yield* reasoning.thoughtCalls.read(trigger)
    if (typeof verdict === 'object') {
      reasoning.write(feed.text.slice(feed.at, feed.at + verdict.reasoningChars))
      return false
    }
    if (verdict === 'text') reasoning.end()
    else answer.callEnded()
    sink.closeBlock()
    if (verdict === 'text') answer.reasoningEnded()
    return true
  }

  *#close({ close, trimAfter }: ReasoningTags): Reading<void> {
    const { rules, answer } = this.#parts
    this.#feed.at += close.length
    if (rules.reasoningIsText) answer.write(close)
    this.#end()
    if (trimAfter && !rules.reasoningIsText) yield* space(this.#feed)
  }

  #end(): void {
    const { rules, sink, answer } = this.#parts
    this.#parts.onClosed()
    if (rules.reasoningIsText) return
    sink.closeBlock()
    answer.reasoningEnded()
  }

  /** Passes over following tags that end the turn. False, with nothing consumed, if text follows. */
  *#passTurnEnds(): Reading<boolean> {
    const feed = this.#feed
    feed.hold()
    while ((yield* acceptAfterSpace(feed, turnEnds)) !== undefined) {
      // Passes over all of them.
    }
    const isEnd = yield* followedBy(feed, [])
    if (!isEnd) feed.rewind()
    else feed.at = feed.text.length
    feed.release()
    return isEnd
  }
}

/** Writes one stretch of reasoning, without the line breaks in front of it and the white space between it and its closing tag. */
class ReasoningWriter {
  readonly #sink: ChoiceSink
  #hasText = false
  /** White space that is part of the reasoning only if more of it follows. */
  #heldSpace = ''

  constructor(sink: ChoiceSink) {
    this.#sink = sink
  }

  write(text: string): void {
    const end = lastVisible(text)
    if (end === 0) {
      this.#heldSpace += text
      return
    }
    const certain = this.#heldSpace + text.slice(0, end)
    this.#sink.reasoning(this.#hasText ? certain : certain.replace(/^[\r\n]+/, ''))
    this.#hasText = true
    this.#heldSpace = text.slice(end)
  }

  /** The next text follows a call. */
  resume(): void {
    this.#hasText = false
    this.#heldSpace = ''
  }

  /** Ends reasoning without a closing tag: the white space at its end is part of it. */
  endUnclosed(): void {
    if (this.#hasText) this.#sink.reasoning(this.#heldSpace)
  }
}

/** The position after the last character that is not white space. */
function lastVisible(text: string): number {
  let at = text.length
  while (at > 0 && isSpace(text[at - 1] as string)) at -= 1
  return at
}
