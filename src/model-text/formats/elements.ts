import type { FunctionTool } from '../../contract/request.ts'
import { coerceBare, isTextOnly } from '../scan/coerce-bare.ts'
import { escapeText } from '../scan/json-string.ts'
import { passTo } from '../scan/pass-to.ts'
import { type Declared, propertyNames, propertyOf } from '../scan/schema-types.ts'
import { acceptAfterSpace, followedBy, type Reading, type TextFeed, until, upcoming } from '../scan/text-feed.ts'
import { type CallWriter, declaredArguments } from './call-writer.ts'
import { passOnTo, readArguments } from './read-arguments.ts'
import { endMarks, turnEnds } from './turn-marks.ts'

/** The head of one argument: its name, and whether its value is text or JSON if the model says so. */
export type ArgumentHead = { readonly key: string; readonly typed?: 'text' | 'json' }

/** How arguments are written between tags. */
export type ElementStyle = {
  /** The beginning of every argument. */
  readonly head: string
  /** Reads the rest of an argument's head, after `head`; undefined when it is not one. */
  readHead(feed: TextFeed): Reading<ArgumentHead | undefined>
  readonly valueEnd: string
  /** Tags that end the call's arguments. */
  readonly callEnds: readonly string[]
  /** Tags that may follow the end of the call. */
  readonly wrapperEnds: readonly string[]
  /** The line break after the opening tag and the one before the closing tag are not part of the value. */
  readonly ownLines?: boolean
  /** A value may be written as a CDATA section. */
  readonly cdata?: boolean
}

/**
 * Reads the arguments of an open call and its end, and closes the call. Anything else between the arguments makes them unparseable, as in
 * `readArguments`.
 */
export function* readElements(writer: CallWriter, tool: FunctionTool, style: ElementStyle): Reading<void> {
  const { feed } = writer
  const declared = declaredArguments(tool)
  const keys = new Set<string>()
  let isBroken = false
  while ((yield* acceptAfterSpace(feed, [style.head])) !== undefined) {
    const head = yield* style.readHead(feed)
    isBroken = head === undefined
    if (head === undefined) break
    const { key, typed } = head
    const isRepeated = keys.has(key)
    if (isRepeated) writer.repaired()
    const write = isRepeated ? () => writer.arguments('') : (text: string) => writer.arguments(text)
    write(`${keys.size === 0 ? '{' : ', '}${JSON.stringify(key)}: `)
    keys.add(key)
    if (yield* readElement(writer, write, { style, declared, property: propertyOf(declared, key), typed, contentTo: 0 })) continue
    isBroken = true
    break
  }
  yield* endElements(writer, tool, { style, isBroken, isEmpty: keys.size === 0 })
  writer.close()
}

type ElementsEnd = { readonly style: ElementStyle; readonly isBroken: boolean; readonly isEmpty: boolean }

/** Reads the text after the last readable argument: the end of the call, or something that does not belong there. */
function* endElements(writer: CallWriter, tool: FunctionTool, { style, isBroken, isEmpty }: ElementsEnd): Reading<void> {
  const { feed } = writer
  const ends = [...style.callEnds, ...style.wrapperEnds]
  const isAtEnd = !isBroken && (yield* followedBy(feed, ends))
  if (!isBroken && feed.cutAt === feed.position) {
    // The beginning of a tag: the call stays open.
    feed.at = feed.text.length
    return
  }
  if (isAtEnd || (feed.ended && feed.at === feed.text.length)) {
    // A call that was truncated before its end stays open.
    if (feed.truncated && feed.text.slice(feed.at).trim() === '') return writer.passOn()
    if (!isAtEnd) return writer.unparseable()
    writer.arguments(isEmpty ? '{}' : '}')
    writer.endArguments()
  } else if (!isBroken && isEmpty && (yield* acceptAfterSpace(feed, ['{'])) !== undefined) {
    feed.at -= 1
    writer.repaired()
    yield* readArguments(writer, tool, { ends: endMarks(ends.map((tag) => ({ tag, before: style.wrapperEnds }))) })
  } else if (isBroken || (yield* comesSoon(feed, ends))) {
    yield* passOnTo(writer, [...ends, ...turnEnds])
  } else {
    // The model forgot to end the call, and continues with text.
    writer.repaired()
    writer.arguments(isEmpty ? '{}' : '}')
    writer.endArguments()
  }
  yield* acceptAfterSpace(feed, style.callEnds)
}

/** Whether one of these comes within the limit of held text; consumes nothing. */
function* comesSoon(feed: TextFeed, tags: readonly string[]): Reading<boolean> {
  const passed = yield* until(feed, tags)
  if (passed !== undefined) feed.at -= passed.length
  return passed !== undefined
}

type ElementContext = {
  readonly style: ElementStyle
  readonly declared: Declared
  readonly property: Declared
  readonly typed: ArgumentHead['typed']
  /** Up to this position, all tags are known to be part of the value. */
  contentTo: number
}

/**
 * Reads one value, up to its end or that of the model's turn; false without a value. A string is written as it arrives, anything else when
 * it is complete, since it is converted.
 */
function* readElement(writer: CallWriter, write: (text: string) => void, context: ElementContext): Reading<boolean> {
  const { feed } = writer
  const { style, property, typed } = context
  const streams = typed === 'text' || (isTextOnly(property) && typed === undefined)
  const value = new ElementValue(style.ownLines === true, streams ? (text) => write(escapeText(text)) : undefined)
  if (streams) write('"')
  const isData = style.cdata === true && (yield* acceptAfterSpace(feed, [dataStart])) !== undefined
  const isClosed = isData ? yield* readData(feed, style, value) : yield* readRaw(writer, context, value)
  const isAtEnd = feed.ended && !feed.truncated && feed.at === feed.text.length
  if (!isClosed && isAtEnd) writer.repaired()
  const isComplete = isClosed || isAtEnd
  value.finish(isComplete)
  if (isComplete) write(streams ? '"' : coerceBare(value.held, property))
  return isComplete
}

const dataStart = '<![CDATA['
const dataEnd = ']]>'

/** Reads the rest of a CDATA section and the end of the value. */
function* readData(feed: TextFeed, style: ElementStyle, value: ElementValue): Reading<boolean> {
  if (!(yield* passTo(feed, [dataEnd], (text) => value.push(text)))) return false
  feed.at += dataEnd.length
  return (yield* acceptAfterSpace(feed, [style.valueEnd])) !== undefined
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

function* readRaw(writer: CallWriter, context: ElementContext, value: ElementValue): Reading<boolean> {
  const { feed } = writer
  const { style } = context
  const stops = [style.valueEnd, style.head, ...style.callEnds, ...style.wrapperEnds.filter(isClosing), ...turnEnds]
  while (yield* passTo(feed, stops, (text) => value.push(text))) {
    const stop = (yield* upcoming(feed, stops)) as string
    if (feed.position >= context.contentTo && (yield* endsValue(feed, context, stop))) {
      // The model forgot the closing tag.
      if (stop !== style.valueEnd) writer.repaired()
      return true
    }
    feed.at += stop.length
    value.push(stop)
  }
  return false
}

/** Whether a stop really ends the value. `valueEnd` is consumed, other stops are not. */
function* endsValue(feed: TextFeed, context: ElementContext, stop: string): Reading<boolean> {
  const { style, declared } = context
  if (stop === style.valueEnd) {
    const ends = yield* followedBy(feed, [style.head, ...style.callEnds, ...style.wrapperEnds, ...turnEnds], stop.length)
    if (ends) feed.at += stop.length
    return ends
  }
  if (turnEnds.includes(stop)) return yield* followedBy(feed, turnEnds, stop.length)
  if (stop !== style.head) {
    if (yield* followedBy(feed, [...style.wrapperEnds, ...turnEnds], stop.length)) return true
    return !(yield* goesOn(feed, context, stop))
  }
  // The model forgot the closing tag if this is the head of a declared argument.
  feed.hold()
  feed.at += stop.length
  const head = yield* style.readHead(feed)
  feed.rewind()
  const names = propertyNames(declared)
  return head !== undefined && (names.length === 0 || names.includes(head.key))
}

/** A tag that ends the element around calls. */
function isClosing(tag: string): boolean {
  return /^<\/|^<\|close\||_end｜>$/.test(tag)
}

/** Whether the closing tag of the value comes after this stop, and before anything that begins another call. */
function* goesOn(feed: TextFeed, context: ElementContext, stop: string): Reading<boolean> {
  const { style } = context
  feed.hold()
  feed.at += stop.length
  const begins = style.wrapperEnds.filter((tag) => !isClosing(tag))
  const isFound = (yield* until(feed, [style.valueEnd, ...begins])) !== undefined
  const isEnd = isFound && (yield* upcoming(feed, [style.valueEnd])) !== undefined
  if (isEnd) context.contentTo = feed.position
  feed.rewind()
  return isEnd
}
