import type { Tool } from '../../contract/request.ts'
import { coerceBare, isTextOnly } from '../scan/coerce-bare.ts'
import { escapeText } from '../scan/json-string.ts'
import { allowedTypes, type Declared, propertyNames, propertyOf } from '../scan/schema-types.ts'
import { acceptAfterSpace, followedBy, type Reading, type TextFeed, upcoming } from '../scan/text-feed.ts'
import { type CallWriter, declaredArguments } from './call-writer.ts'

/** The head of one argument: its name, and whether its value is text or JSON, where the model says so itself. */
export type ArgumentHead = { readonly key: string; readonly typed?: 'text' | 'json' }

/** How arguments stand between tags. */
export type ElementStyle = {
  /** What every argument begins with. */
  readonly head: string
  /** Reads the rest of an argument's head, after `head`; undefined when it is none. */
  readHead(feed: TextFeed): Reading<ArgumentHead | undefined>
  readonly valueEnd: string
  /** What ends the call's arguments, the first of them properly. */
  readonly callEnds: readonly string[]
  /** What may follow the end of the call; a call's end inside a value is only believed in front of it, if `wrapped`. */
  readonly wrapperEnds: readonly string[]
  /** The line break after the opening tag and the one before the closing tag are not part of the value. */
  readonly ownLines?: boolean
}

/** Reads the arguments of an open call, up to and with its end, and closes it. Always something that can be closed. */
export function* readElements(
  writer: CallWriter,
  tool: Tool,
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
    const whole = yield* readElement(writer, { style, wrapped, declared, property, typed: head.typed })
    if (!whole && feed.truncated) {
      writer.close()
      return
    }
  }
  const ended = (yield* acceptAfterSpace(feed, style.callEnds)) !== undefined
  const following = yield* followedBy(feed, style.wrapperEnds)
  // Cut off by a limit before its end, it is left as it is; what else ends it is as good as its end.
  if (ended || following || !(feed.truncated && feed.at >= feed.text.length)) writer.arguments('}')
  writer.close()
}

type ElementPlace = {
  readonly style: ElementStyle
  readonly wrapped: boolean
  readonly declared: Declared
  readonly property: Declared
  readonly typed: ArgumentHead['typed']
}

/** Reads one value. Text leaves as it comes; what has to be converted leaves when it is complete. */
function* readElement(writer: CallWriter, place: ElementPlace): Reading<boolean> {
  const { style, property, typed } = place
  const streams = typed === 'text' ? acceptsText(property) : isTextOnly(property) && typed === undefined
  const value = new ElementValue(style.ownLines === true, streams ? (text) => writer.arguments(escapeText(text)) : undefined)
  if (streams) writer.arguments('"')
  const whole = yield* readRaw(writer.feed, place, value)
  value.finish(whole)
  if (!whole && writer.feed.truncated) return false
  writer.arguments(streams ? '"' : coerceBare(value.held, property))
  return whole
}

function acceptsText(declared: Declared): boolean {
  return allowedTypes(declared)?.has('string') !== false
}

/** Puts the pieces of one value together, or passes them on, without the line breaks that are not part of it. */
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

  finish(whole: boolean): void {
    if (!whole) this.#write(this.#lineBreak)
  }

  #write(text: string): void {
    if (this.#out === undefined) this.held += text
    else if (text !== '') this.#out(text)
  }
}

function* readRaw(feed: TextFeed, place: ElementPlace, value: ElementValue): Reading<boolean> {
  const { style } = place
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
    if (stop !== undefined && (yield* endsValue(feed, place, stop))) return true
    const passed = stop ?? first
    value.push(passed)
    feed.at += passed.length
  }
}

/** Whether a stop really ends the value; it may be part of it. The proper end is consumed. */
function* endsValue(feed: TextFeed, { style, wrapped, declared }: ElementPlace, stop: string): Reading<boolean> {
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
    // The closing tag was forgotten, if what begins here is one of the arguments.
    const head = yield* style.readHead(feed)
    const names = propertyNames(declared)
    ends = head !== undefined && (names.length === 0 || names.includes(head.key))
  } else {
    ends = !wrapped || (yield* followedBy(feed, style.wrapperEnds))
  }
  feed.rewind()
  return ends
}
