import type { FunctionTool } from '../../contract/request.ts'
import { coerceBare, isTextOnly } from '../scan/coerce-bare.ts'
import { escapeText } from '../scan/json-string.ts'
import { allowedTypes, type Declared, propertyNames, propertyOf } from '../scan/schema-types.ts'
import { acceptAfterSpace, followedBy, type Reading, type TextFeed, upcoming } from '../scan/text-feed.ts'
import { type CallWriter, declaredArguments } from './call-writer.ts'

/** The head of one argument: its name, and whether its value is text or JSON if the model says so. */
export type ArgumentHead = { readonly key: string; readonly typed?: 'text' | 'json' }

/** How arguments are written between tags. */
export type ElementStyle = {
  /** The beginning of every argument. */
  readonly head: string
  /** Reads the rest of an argument's head, after `head`; undefined when it is not one. */
  readHead(feed: TextFeed): Reading<ArgumentHead | undefined>
  readonly valueEnd: string
  /** Any of these ends the call's arguments. */
  readonly callEnds: readonly string[]
  /** What may follow the end of the call. If `wrapped`, a call's end inside a value counts only in front of one of these. */
  readonly wrapperEnds: readonly string[]
  /** The line break after the opening tag and the one before the closing tag are not part of the value. */
  readonly ownLines?: boolean
}

/** Reads the arguments of an open call and its end, and closes the call. */
export function* readElements(
  writer: CallWriter,
  tool: FunctionTool,
  { style, wrapped }: { readonly style: ElementStyle; readonly wrapped: boolean },
): Reading<void> {
  const { feed } = writer
  const declared = declaredArguments(tool)
  let separator = ''
  writer.arguments('{')
  while (true) {
    if ((yield* acceptAfterSpace(feed, [style.head])) === undefined) break
    const head = yield* style.readHead(feed)
    if (head === undefined) break
    const property = propertyOf(declared, head.key)
    writer.arguments(`${separator}${JSON.stringify(head.key)}: `)
    separator = ', '
    const isComplete = yield* readElement(writer, { style, wrapped, declared, property, typed: head.typed })
    if (!isComplete && feed.truncated) {
      writer.close()
      return
    }
  }
  const ended = (yield* acceptAfterSpace(feed, style.callEnds)) !== undefined
  const following = yield* followedBy(feed, style.wrapperEnds)
  // A call that was truncated before its end stays open; anything else that follows ends it.
  if (ended || following || !(feed.truncated && feed.at >= feed.text.length)) writer.arguments('}')
  writer.close()
}

type ElementContext = {
  readonly style: ElementStyle
  readonly wrapped: boolean
  readonly declared: Declared
  readonly property: Declared
  readonly typed: ArgumentHead['typed']
}

/** Reads one value. A string is emitted as it comes, everything else when it is complete, because it is converted. */
function* readElement(writer: CallWriter, context: ElementContext): Reading<boolean> {
  const { style, property, typed } = context
  const streams = typed === 'text' ? acceptsText(property) : isTextOnly(property) && typed === undefined
  const value = new ElementValue(style.ownLines === true, streams ? (text) => writer.arguments(escapeText(text)) : undefined)
  if (streams) writer.arguments('"')
  const isComplete = yield* readRaw(writer.feed, context, value)
  value.finish(isComplete)
  if (!isComplete && writer.feed.truncated) return false
  writer.arguments(streams ? '"' : coerceBare(value.held, property))
  return isComplete
}

function acceptsText(declared: Declared): boolean {
  return allowedTypes(declared)?.has('string') !== false
}

/** Joins the pieces of one value, or passes them on, without the line breaks that are not part of it. */
class ElementValue {
  held = ''
  readonly #ownLines: boolean
  readonly #out: ((text: string) => void) | undefined
  #begun = false
  #lineBreak = ''

  constructor(ownLines: boolean, out: ((text: string) => void) | undefined) {
    this.#ownLines = ownLines
    this.#out = out
  }

  push(piece: string): void {
    if (piece === '') return
    let text = piece
    if (!this.#begun) {
      this.#begun = true
      if (this.#ownLines && text[0] === '\n') text = text.slice(1)
    }
    text = this.#lineBreak + text
    this.#lineBreak = this.#ownLines && text.endsWith('\n') ? '\n' : ''
    this.#write(this.#lineBreak === '' ? text : text.slice(0, -1))
  }

  finish(isComplete: boolean): void {
    if (!isComplete) this.#write(this.#lineBreak)
  }

  #write(text: string): void {
    if (this.#out === undefined) this.held += text
    else if (text !== '') this.#out(text)
  }
}

function* readRaw(feed: TextFeed, context: ElementContext, value: ElementValue): Reading<boolean> {
  const { style } = context
  const stops = [style.valueEnd, style.head, ...style.callEnds]
  const first = style.valueEnd[0] as string
  while (true) {
    if (feed.at === feed.text.length) {
      if (feed.ended) return false
      yield
      continue
    }
    const next = feed.text.indexOf(first, feed.at)
    const upTo = next === -1 ? feed.text.length : next
    value.push(feed.text.slice(feed.at, upTo))
    feed.at = upTo
    if (next === -1) continue
    const stop = yield* upcoming(feed, stops)
    if (stop !== undefined && (yield* endsValue(feed, context, stop))) return true
    const passed = stop ?? first
    value.push(passed)
    feed.at += passed.length
  }
}

/** Whether a stop really ends the value, and is not part of it. `valueEnd` is consumed, other stops are not. */
function* endsValue(feed: TextFeed, { style, wrapped, declared }: ElementContext, stop: string): Reading<boolean> {
  feed.hold()
  feed.at += stop.length
  let ends: boolean
  if (stop === style.valueEnd) {
    ends = yield* followedBy(feed, [style.head, ...style.callEnds, ...style.wrapperEnds])
    if (ends) {
      feed.release()
      return true
    }
  } else if (stop === style.head) {
    // The model forgot the closing tag if this is the head of a declared argument.
    const head = yield* style.readHead(feed)
    const names = propertyNames(declared)
    ends = head !== undefined && (names.length === 0 || names.includes(head.key))
  } else {
    ends = !wrapped || (yield* followedBy(feed, style.wrapperEnds))
  }
  feed.rewind()
  return ends
}
