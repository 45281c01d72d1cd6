import type { CallWriter } from '../formats/call-writer.ts'
import type { DroppedTag, MessageSyntax, TagPosition, Trigger } from '../formats/tool-format.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import { acceptAfterSpace, isQuote, isSpace, peek, type Reading, space, type TextFeed, upcoming } from '../scan/text-feed.ts'
import { findHeader, isQuoted } from './message-header.ts'
import type { ReasoningTags } from './reasoning-tags.ts'
import { isTruncatedTag, matchTag, type TagSet } from './tags.ts'

export type ChoiceRules = {
  /** The answer is a row of messages, and nothing below applies but `startsInReasoning`. */
  readonly messages: MessageSyntax | undefined
  /** What may begin something in the answer. */
  readonly textTags: TagSet<Trigger | DroppedTag | 'reasoning'>
  /** What may end reasoning. */
  readonly reasoningTags: TagSet<Trigger | 'close'>
  readonly reasoning: ReasoningTags | undefined
  readonly startsInReasoning: boolean
  /** Text that the prompt ended with, and that is part of the answer where reasoning is not taken out of it. */
  readonly prefix: string
  /** False: reasoning is text, with the marks around it. */
  readonly splitReasoning: boolean
  /** A call is demanded: what was cut off before it could become one is no text either, and is left out. */
  readonly callRequired: boolean
}

/** Reads the text of one choice into its sink, from beginning to end. */
export class ChoiceParser {
  readonly #feed: TextFeed
  readonly #sink: ChoiceSink
  readonly #writer: CallWriter
  readonly #rules: ChoiceRules
  /** White space in front of a text that has not begun. */
  #lead = ''
  #atStart = true
  /** No text has begun yet, and no mark of a call or a part of the answer was followed. */
  #isFirst = true
  /** Tags that were left out, and whose closing marks may follow. */
  readonly #leftOut = new Set<string>()
  #keepLead = true
  #previous = ''
  /** The text before what was taken out ended with white space. */
  #seam = false
  /** Whether what comes next is reasoning, as far as can be told. */
  inReasoning: boolean

  constructor(parts: { feed: TextFeed; sink: ChoiceSink; writer: CallWriter }, rules: ChoiceRules) {
    this.#feed = parts.feed
    this.#sink = parts.sink
    this.#writer = parts.writer
    this.#rules = rules
    this.inReasoning = rules.startsInReasoning
  }

  /** The whole reading; it yields to wait for text. */
  *read(): Reading<void> {
    const { messages, prefix } = this.#rules
    this.#sink.text(prefix)
    if (messages !== undefined) return yield* this.#readMessages(messages)
    if (this.inReasoning) yield* this.#readReasoning('prompt')
    const feed = this.#feed
    const { textTags } = this.#rules
    while (true) {
      if (feed.at === feed.text.length) {
        if (feed.ended) break
        yield
        continue
      }
      const next = textTags.search(feed.text, feed.at)
      if (next > feed.at) {
        this.#write(feed.text.slice(feed.at, next))
        feed.at = next
        continue
      }
      const match = matchTag(textTags, feed)
      if (match === 'open') {
        yield
        continue
      }
      if (match === undefined || !(yield* this.#enter(match.tag, match.value))) {
        if (this.#rules.callRequired && isTruncatedTag(textTags, feed)) break
        this.#write(feed.text[feed.at] as string)
        feed.at += 1
      }
    }
    if (this.#keepLead) this.#sink.text(this.#lead)
  }

  *#readMessages(syntax: MessageSyntax): Reading<void> {
    const feed = this.#feed
    const { body, ends, headerStarts, readHeader } = syntax
    if (this.inReasoning) yield* this.#readBody(syntax, 'reasoning')
    while ((yield* peek(feed)) !== '') {
      const mayBegin = (yield* upcoming(feed, headerStarts)) !== undefined
      const header = mayBegin ? yield* findHeader(feed, syntax) : undefined
      if (header === 'cut-off') {
        feed.at = feed.text.length
        return
      }
      if (header === undefined) {
        yield* this.#readBody(syntax, 'text')
        continue
      }
      const kind = readHeader(header)
      if (kind.type !== 'call') {
        feed.at += header.length + body.length
        const asText = kind.type === 'reasoning' && !this.#rules.splitReasoning
        if (asText) this.#sink.text(header + body)
        yield* this.#readBody(syntax, asText ? 'text' : kind.type, { keepEnd: asText })
        continue
      }
      const read = this.#readCall({
        tag: header + body,
        position: 'anywhere',
        read: syntax.readCall(kind.name),
      })
      if (yield* read) {
        yield* acceptAfterSpace(feed, ends)
        continue
      }
      this.#sink.text(header + body)
      feed.at += header.length + body.length
      yield* this.#readBody(syntax, 'text')
    }
  }

  /** Reads the body of a message, up to and with the mark that ends it, or up to the header of the next. */
  *#readBody(syntax: MessageSyntax, type: 'text' | 'reasoning' | 'dropped', { keepEnd = false } = {}): Reading<void> {
    const feed = this.#feed
    const { start, ends } = syntax
    const tags = [...ends, start]
    let previous = ''
    const write = (text: string) => {
      if (type !== 'dropped') this.#sink[type](text)
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
      const tag = yield* upcoming(feed, tags)
      if (tag === undefined) {
        write('<')
        continue
      }
      if ((yield* isQuoted(feed, { tag, previous })) || (tag === start && (yield* findHeader(feed, syntax)) === undefined)) {
        write(tag)
        continue
      }
      if (tag === start) break
      feed.at += tag.length
      if (keepEnd) this.#sink.text(tag)
      break
    }
    this.inReasoning = false
    this.#sink.closeBlock()
  }

  /** Follows a mark. False, with nothing consumed, when it is only text here. */
  *#enter(tag: string, value: Trigger | DroppedTag | 'reasoning'): Reading<boolean> {
    const feed = this.#feed
    if (value === 'reasoning') {
      if (!this.#atStart && this.#rules.reasoning?.anywhere !== true) return false
      feed.at += tag.length
      this.#startText({ keepLead: false })
      yield* this.#readReasoning('tag')
      return true
    }
    if (!this.#mayStand(value)) return false
    if (!('read' in value)) return yield* this.#leaveOut(value)
    if (!(yield* this.#readCall(value))) return false
    this.#isFirst = false
    this.#startText({ keepLead: false })
    return true
  }

  /** Passes over a mark that says nothing by itself; false where it is text. */
  *#leaveOut({ tag, only }: DroppedTag): Reading<boolean> {
    if (only === 'last') return yield* this.#passLast()
    if (only === 'first' && !this.#isFirst) return false
    if (typeof only === 'object' && !this.#leftOut.delete(only.closes)) return false
    this.#isFirst = false
    this.#leftOut.add(tag)
    this.#feed.at += tag.length
    return true
  }

  /** Passes over all marks that only count at the end, and the space around them: left out if it is the end, otherwise text. */
  *#passLast(): Reading<true> {
    const feed = this.#feed
    feed.hold()
    while ((yield* peek(feed)) !== '') {
      const match = matchTag(this.#rules.textTags, feed)
      if (match === 'open') {
        yield
        continue
      }
      const isLast = typeof match?.value === 'object' && 'only' in match.value && match.value.only === 'last'
      if (match !== undefined && isLast) feed.at += match.tag.length
      else if ((yield* space(feed)) === '') {
        const length = feed.heldChars
        feed.rewind()
        this.#write(feed.text.slice(feed.at, feed.at + length))
        feed.at += length
        return true
      }
    }
    feed.release()
    return true
  }

  #mayStand({ position }: { readonly position: TagPosition }): boolean {
    switch (position) {
      case 'anywhere':
        return true
      case 'unquoted':
        return !isQuote(this.#previous)
      case 'start':
        return this.#atStart
      case 'line':
        return this.#atStart || this.#previous === '\n'
    }
  }

  *#readCall({ tag, keep = false, read: readIt }: Trigger): Reading<boolean> {
    const feed = this.#feed
    feed.hold()
    if (!keep) feed.at += tag.length
    const made = this.#writer.calls
    const read = yield* readIt(this.#writer)
    const isMade = read || this.#writer.calls > made
    // The reader waited for more of it when the text was cut off.
    const isLeftOut = !isMade && this.#rules.callRequired && feed.truncated
    if (isLeftOut) feed.at = feed.text.length
    if (read || isLeftOut) feed.release()
    else feed.rewind()
    // Also a call that the end of the text cut off.
    if (isMade) this.#writer.close()
    return read || isLeftOut
  }

  /** What follows is the beginning of a text; the space in front of it stays where a text follows, or not. */
  #startText({ keepLead }: { keepLead: boolean }): void {
    if (this.#previous !== '') this.#seam = isSpace(this.#previous)
    this.#lead = ''
    this.#atStart = true
    this.#keepLead = keepLead
    this.#previous = ''
  }

  #write(text: string): void {
    if (!this.#atStart) {
      this.#previous = text.at(-1) ?? ''
      this.#sink.text(text)
      return
    }
    const begin = firstVisible(text)
    this.#lead += text.slice(0, begin)
    if (begin === text.length) return
    this.#atStart = false
    this.#isFirst = false
    const rest = text.slice(begin)
    this.#previous = rest.at(-1) ?? ''
    // Where a call stood between two words, the space on one side of it is enough.
    this.#sink.text(this.#seam ? rest : this.#lead + rest)
    this.#lead = ''
  }

  *#readReasoning(opened: 'prompt' | 'tag'): Reading<void> {
    const feed = this.#feed
    const { reasoning, reasoningTags } = this.#rules
    if (reasoning === undefined) return
    this.inReasoning = true
    this.#seam = false
    const held = { started: false, space: '' }
    if (opened === 'tag') yield* space(feed)
    else yield* this.#passRepeatedOpen(reasoning)
    while (true) {
      if (feed.at === feed.text.length) {
        if (feed.ended) break
        yield
        continue
      }
      const next = reasoningTags.search(feed.text, feed.at)
      if (next > feed.at) {
        this.#writeReasoning(held, feed.text.slice(feed.at, next))
        feed.at = next
        continue
      }
      const match = matchTag(reasoningTags, feed)
      if (match === 'open') {
        yield
        continue
      }
      if (match?.value === 'close') {
        feed.at += match.tag.length
        this.inReasoning = false
        this.#sink.closeBlock()
        if (reasoning.trimAfter) yield* space(feed)
        this.#startText({ keepLead: true })
        return
      }
      if (match !== undefined) {
        this.#writer.sawName = false
        if (yield* this.#readCall(match.value)) {
          // The reasoning was interrupted, not ended: what follows is reasoning until it is closed.
          held.space = ''
          held.started = false
          continue
        }
        if (this.#writer.sawName) {
          // What looks like a call is not reasoning, also when nothing is called.
          this.inReasoning = false
          if (held.started) this.#sink.reasoning(held.space)
          this.#sink.closeBlock()
          this.#startText({ keepLead: true })
          return
        }
      }
      this.#writeReasoning(held, feed.text[feed.at] as string)
      feed.at += 1
    }
    if (held.started) this.#sink.reasoning(held.space)
  }

  /** White space waits: it belongs to the reasoning only if more of it follows. */
  #writeReasoning(held: { started: boolean; space: string }, text: string): void {
    const end = lastVisible(text)
    if (end === 0) {
      held.space += text
      return
    }
    const lead = held.started ? held.space : held.space.replace(/^[\r\n]+/, '')
    const body = held.started || lead !== '' ? text.slice(0, end) : text.slice(0, end).replace(/^[\r\n]+/, '')
    this.#sink.reasoning(lead + body)
    held.started = true
    held.space = text.slice(end)
  }

  /**
   * A model may repeat the mark that its prompt ended with: it is no text then. With nothing between it and the closing
   * mark it is the only thing that was said, and stays.
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

function firstVisible(text: string): number {
  let at = 0
  while (at < text.length && isSpace(text[at] as string)) at += 1
  return at
}

function lastVisible(text: string): number {
  let at = text.length
  while (at > 0 && isSpace(text[at - 1] as string)) at -= 1
  return at
}
