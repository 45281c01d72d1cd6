import type { CallWriter } from '../formats/call-writer.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import { acceptAfterSpace, peek, type Reading, type TextFeed, upcoming } from '../scan/text-feed.ts'
import type { MessageRules } from './choice-rules.ts'
import { findHeader, isQuoted } from './message-header.ts'
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
