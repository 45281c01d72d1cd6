import type { CallWriter } from '../formats/call-writer.ts'
import type { MessageSyntax } from '../formats/tool-format.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import {
  accept,
  acceptAfterSpace,
  ensure,
  isQuote,
  peek,
  type Reading,
  type TextFeed,
  until,
  upcoming,
} from '../scan/text-feed.ts'
import type { MessageRules } from './choice-rules.ts'
import { tryCall } from './try-call.ts'

/** Reads the text of a choice that is a row of messages, from beginning to end. */
export class MessageParser {
  readonly #feed: TextFeed
  readonly #sink: ChoiceSink
  readonly #calls: CallWriter
  readonly #rules: MessageRules
  /** Whether the next character is likely to be reasoning. */
  inReasoning: boolean

  constructor(calls: CallWriter, sink: ChoiceSink, rules: MessageRules) {
    this.#feed = calls.feed
    this.#sink = sink
    this.#calls = calls
    this.#rules = rules
    this.inReasoning = rules.startsInReasoning
  }

  /** Reads all of the text; yields to wait for more of it. */
  *read(): Reading<void> {
    const feed = this.#feed
    const { syntax, prefix } = this.#rules
    this.#sink.text(prefix)
    if (this.inReasoning) yield* this.#readBody('reasoning')
    while ((yield* peek(feed)) !== '') {
      const mayBegin = (yield* upcoming(feed, syntax.headerStarts)) !== undefined
      const header = mayBegin ? yield* findHeader(feed, syntax) : undefined
      if (header === 'truncated') {
        feed.at = feed.text.length
        return
      }
      if (header === undefined) yield* this.#readBody('text')
      else yield* this.#readMessage(header)
    }
  }

  *#readMessage(header: string): Reading<void> {
    const feed = this.#feed
    const { syntax, splitReasoning, callRequired } = this.#rules
    const { body, ends, readHeader, readCall } = syntax
    const kind = readHeader(header)
    if (kind.type === 'call') {
      const trigger = { tag: header + body, position: 'anywhere', read: readCall(kind.name) } as const
      if (yield* tryCall(this.#calls, trigger, callRequired)) {
        yield* acceptAfterSpace(feed, ends)
        const isRest = feed.truncated && feed.text.slice(feed.at).trim() === ''
        if (isRest || feed.cutAt === feed.position) feed.at = feed.text.length
        return
      }
    }
    feed.at += header.length + body.length
    const isText = kind.type === 'call' || (kind.type === 'reasoning' && !splitReasoning)
    if (isText) this.#sink.text(header + body)
    yield* this.#readBody(isText ? 'text' : kind.type, { keepEnd: isText && kind.type === 'reasoning' })
  }

  /** Reads the body of a message, up to its end delimiter, which is consumed, or the header of the next message. */
  *#readBody(type: 'text' | 'reasoning', { keepEnd = false } = {}): Reading<void> {
    const feed = this.#feed
    const { syntax } = this.#rules
    const delimiters = [...syntax.ends, syntax.start]
    let previous = ''
    const write = (text: string) => {
      this.#sink[type](text)
      previous = text.at(-1) ?? previous
      feed.at += text.length
    }
    this.inReasoning = type === 'reasoning'
    while ((yield* peek(feed)) !== '') {
      const next = feed.text.indexOf('<', feed.at)
      if (next !== feed.at) {
        write(feed.text.slice(feed.at, next === -1 ? undefined : next))
        continue
      }
      const delimiter = yield* upcoming(feed, delimiters)
      if (delimiter === undefined) {
        write('<')
        continue
      }
      if (yield* this.#isText(delimiter, previous)) {
        write(delimiter)
        continue
      }
      if (delimiter === syntax.start) break
      feed.at += delimiter.length
      if (keepEnd) this.#sink.text(delimiter)
      break
    }
    this.inReasoning = false
    this.#sink.closeBlock()
  }

  /** Whether the delimiter that is next is only mentioned: in quotes, or a start without a header. */
  *#isText(delimiter: string, previous: string): Reading<boolean> {
    const { syntax } = this.#rules
    if (yield* isQuoted(this.#feed, { delimiter, previous })) return true
    return delimiter === syntax.start && (yield* findHeader(this.#feed, syntax)) === undefined
  }
}

/** No header of a message is longer. */
const maxHeaderChars = 1024

/**
 * The header that is next, without the delimiter that ends it; `truncated` when the answer was cut off inside it. Nothing is
 * consumed.
 */
function* findHeader(feed: TextFeed, { start, body, ends }: MessageSyntax): Reading<string | 'truncated' | undefined> {
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
function* isQuoted(feed: TextFeed, { delimiter, previous }: { delimiter: string; previous: string }): Reading<boolean> {
  return isQuote(previous) && (yield* ensure(feed, delimiter.length + 1)) && feed.text[feed.at + delimiter.length] === previous
}
