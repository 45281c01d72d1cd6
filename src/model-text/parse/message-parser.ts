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

  *#readMessage({ header, body }: Header): Reading<void> {
    const feed = this.#feed
    const { syntax, splitReasoning, callRequired } = this.#rules
    const { ends, readHeader, readCall } = syntax
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
    const keepsTags = kind.type === 'reasoning' && !splitReasoning
    if (keepsTags) this.#sink.text(header + body)
    else if (body === '') this.#sink.text(withoutTags(header))
    yield* this.#readBody(kind.type === 'reasoning' && splitReasoning ? 'reasoning' : 'text', keepsTags)
  }

  /** Reads the body of a message, up to its end delimiter, which is consumed, or the header of the next message. */
  *#readBody(type: 'text' | 'reasoning', keepsEnd = false): Reading<void> {
    const feed = this.#feed
    const { syntax } = this.#rules
    const delimiters = [...syntax.ends, ...syntax.inBody]
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
      if (syntax.inBody.includes(delimiter)) break
      feed.at += delimiter.length
      if (keepsEnd) this.#sink.text(delimiter)
      break
    }
    this.inReasoning = false
    this.#sink.closeBlock()
  }

  /** Whether the next delimiter is only mentioned: in quotes, or without the rest of a header. */
  *#isText(delimiter: string, previous: string): Reading<boolean> {
    const { syntax } = this.#rules
    if (yield* isQuoted(this.#feed, { delimiter, previous })) return true
    return syntax.inBody.includes(delimiter) && (yield* findHeader(this.#feed, syntax)) === undefined
  }
}

/** No header of a message is longer. */
const maxHeaderChars = 1024

/** The header of a message, and the delimiter of its body, which is empty if the model omitted it. */
type Header = { readonly header: string; readonly body: string }

/** The next header; `truncated` if the answer ended inside it. Consumes nothing. */
function* findHeader(
  feed: TextFeed,
  { start, body, ends, readHeader }: MessageSyntax,
): Reading<Header | 'truncated' | undefined> {
  feed.hold()
  yield* accept(feed, start)
  // A header contains neither another delimiter nor JSON.
  const found = yield* until(feed, [body, start, ...ends, '{'], maxHeaderChars)
  const length = feed.heldChars
  const hasBody = found !== undefined && (yield* accept(feed, body))
  feed.rewind()
  const isAtEnd = found === undefined && feed.ended && feed.text.length - feed.at <= maxHeaderChars
  if (isAtEnd && feed.truncated) return 'truncated'
  if (found === undefined && !isAtEnd) return undefined
  const header = feed.text.slice(feed.at, isAtEnd ? undefined : feed.at + length)
  if (hasBody) return { header, body }
  // Without the delimiter, only text addressed to a tool is a message.
  return header.includes('<|') && readHeader(header).type === 'call' ? { header, body: '' } : undefined
}

/** The words of a header. */
function withoutTags(header: string): string {
  return header.replace(/\s*<\|\w+\|>\s*/g, ' ').trim()
}

/** Whether the next delimiter has the same quote on both sides: then it is only mentioned. */
function* isQuoted(feed: TextFeed, { delimiter, previous }: { delimiter: string; previous: string }): Reading<boolean> {
  return isQuote(previous) && (yield* ensure(feed, delimiter.length + 1)) && feed.text[feed.at + delimiter.length] === previous
}
