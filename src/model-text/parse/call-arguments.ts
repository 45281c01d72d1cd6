import { parseJson } from '../../base/json.ts'
import type { FunctionTool } from '../../contract/request.ts'
import { declaredArguments } from '../formats/call-writer.ts'
import type { CallOutcome } from '../scan/choice-sink.ts'
import { jsonReader, missingClosers, readObject } from '../scan/json-value.ts'
import { soleStringProperty } from '../scan/schema-types.ts'
import { collectText, completeFeed, type Reading, readNow, TextFeed } from '../scan/text-feed.ts'

type ArgumentsEnd = { readonly delta: string; readonly outcome: CallOutcome }

/**
 * Reads the arguments of one call that another server has parsed, in any pieces, by the rule of `readArguments`: JSON stays unchanged, text
 * with a certain meaning is repaired, and everything else is passed on unchanged, as unparseable. Empty arguments are an empty object.
 */
export class CallArguments {
  readonly #tool: FunctionTool
  readonly #feed = new TextFeed()
  readonly #reading: Reading<boolean>
  readonly #reader
  /** Arguments that do not begin as an object are held until they are complete. */
  #held = ''
  #isObject = false
  #state: 'reading' | 'complete' | 'broken' = 'reading'
  #isRepaired = false
  #out = ''
  #written = ''
  #writtenTo = 0
  /** The text after the object was complete, or broken. */
  #after = ''

  constructor(tool: FunctionTool) {
    this.#tool = tool
    this.#feed.record()
    this.#reader = jsonReader(this.#feed, {
      out: (text) => this.#write(text),
      repaired: () => {
        this.#isRepaired = true
      },
      strict: false,
    })
    this.#reading = readObject(this.#reader, declaredArguments(tool))
  }

  /** The object is closed: only white space should follow. */
  get isComplete(): boolean {
    return this.#state === 'complete' || this.isOpening
  }

  /** So far an empty object, which may only open the arguments. */
  get isOpening(): boolean {
    return isEmptyObject(this.#held)
  }

  /** Adds a piece; returns the arguments that are now certain. */
  push(piece: string): string {
    if (this.#state !== 'reading') {
      this.#after += piece
      if (this.#state === 'broken') this.#out += piece
      return this.#take()
    }
    if (!this.#isObject) {
      this.#held += piece
      const object = withoutEmptyOpening(this.#held)
      if (!object.startsWith('{') || mayBeEmpty(object)) return ''
      this.#begin(object)
    } else this.#feed.push(piece)
    this.#step(this.#reading.next())
    return this.#take()
  }

  /** Ends the arguments. If `truncated`, they stay as they are. */
  end(truncated: boolean): ArgumentsEnd {
    const object = withoutEmptyOpening(this.#held)
    if (!this.#isObject && object.startsWith('{')) {
      this.#begin(object)
      this.#step(this.#reading.next())
    }
    if (!this.#isObject) return truncated ? { delta: this.#held.trim(), outcome: {} } : endHeld(this.#held, this.#tool)
    if (this.#state === 'reading') this.#endReading(truncated)
    const delta = this.#take()
    return { delta, outcome: this.#outcome() }
  }

  #begin(object: string): void {
    this.#isObject = true
    this.#held = ''
    this.#feed.push(object)
  }

  #endReading(truncated: boolean): void {
    this.#feed.end(truncated)
    const step = this.#reading.next()
    const isAtEnd = this.#feed.at === this.#feed.text.length
    if (step.value === true || !isAtEnd) this.#step(step)
    else if (truncated) this.#passOn()
    else if (this.#reader.closable) {
      this.#isRepaired = true
      this.#write(missingClosers(this.#reader))
    } else this.#fail()
  }

  #step(step: IteratorResult<void, boolean>): void {
    if (step.done !== true) return
    if (!step.value) {
      this.#fail()
      return
    }
    this.#state = 'complete'
    this.#after = this.#feed.text.slice(this.#feed.at)
  }

  #fail(): void {
    this.#state = 'broken'
    this.#feed.at = this.#feed.text.length
    this.#passOn()
  }

  /** Passes on unchanged what was read but not written. */
  #passOn(): void {
    this.#write(this.#feed.recorded(this.#writtenTo))
  }

  #outcome(): CallOutcome {
    const read = this.#feed.recorded()
    if (this.#state === 'broken') {
      const raw = read + this.#after
      return { state: 'unparseable', ...(raw !== this.#written && { raw }) }
    }
    const isFollowed = this.#state === 'complete' && this.#after.trim() !== ''
    return this.#isRepaired || isFollowed ? { state: 'repaired', raw: read + this.#after } : {}
  }

  #write(text: string): void {
    this.#writtenTo = this.#feed.position
    this.#out += text
  }

  #take(): string {
    const out = this.#out
    this.#out = ''
    this.#written += out
    return out
  }
}

export function isEmptyObject(json: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(json)
}

/** Some servers open each call with an empty object or `null`, and then send the arguments. */
function withoutEmptyOpening(text: string): string {
  return text.replace(/^\s*(?:(?:\{\s*\}|null)\s*(?=\{|null))*/, '')
}

/** Whether the text may still turn out to be such an opening; no proxy writes it with this much white space. */
function mayBeEmpty(object: string): boolean {
  return object.length < 64 && /^\{\s*(?:\}\s*)?$/.test(object)
}

/** Arguments that do not begin as an object: an empty text, an object inside a string, or the text of the only parameter. */
function endHeld(held: string, tool: FunctionTool): ArgumentsEnd {
  const raw = held.trim()
  if (/^(?:null)*$/.test(raw)) return { delta: '{}', outcome: {} }
  const repaired = (delta: string): ArgumentsEnd => ({ delta, outcome: { state: 'repaired', raw } })
  const text = unquote(raw)
  if (text === '') return repaired('{}')
  if (text?.startsWith('{') === true) {
    const json = collectText()
    const feed = completeFeed(text)
    const isRead = readNow(readObject(jsonReader(feed, { out: json.out, strict: false }), declaredArguments(tool)))
    if (isRead && feed.text.slice(feed.at).trim() === '') return repaired(json.text)
  } else {
    const property = soleStringProperty(declaredArguments(tool))
    const isText = text !== undefined || /^[^[{"]/.test(raw)
    if (property === undefined && text === 'null') return repaired('{}')
    if (property !== undefined && isText) return repaired(JSON.stringify({ [property]: text ?? raw }))
  }
  return { delta: raw, outcome: { state: 'unparseable' } }
}

/** The text of a string in JSON; undefined for anything else. */
function unquote(json: string): string | undefined {
  if (!json.startsWith('"')) return undefined
  const value = parseJson(json)
  return typeof value === 'string' ? value.trim() : undefined
}
