import type { FunctionTool } from '../../contract/request.ts'
import { declaredArguments } from '../formats/call-writer.ts'
import { jsonReader, readObject } from '../scan/json-value.ts'
import { soleStringProperty } from '../scan/schema-types.ts'
import { collectText, completeFeed, type Reading, readNow, TextFeed } from '../scan/text-feed.ts'

/**
 * Repairs the arguments of one call that another server has parsed, in any pieces: the result is JSON, corrected and converted to
 * the declared types like the arguments that we parse. An object inside a string, and empty arguments, become an object as well.
 */
export class CallArguments {
  readonly #tool: FunctionTool
  readonly #feed = new TextFeed()
  readonly #reading: Reading<boolean>
  /** Arguments that do not begin as an object are held until they are complete. */
  #held = ''
  #isObject = false
  #isComplete = false
  #out = ''
  readonly #reader

  constructor(tool: FunctionTool) {
    this.#tool = tool
    this.#reader = jsonReader(this.#feed, { out: (text) => this.#write(text), strict: false })
    this.#reading = readObject(this.#reader, declaredArguments(tool))
  }

  /** The object is closed; text after it is ignored. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Adds a piece; returns the JSON that is certain by now. */
  push(piece: string): string {
    if (!this.#isObject) {
      this.#held = (this.#held + piece).trimStart()
      if (!this.#held.startsWith('{')) return ''
      this.#isObject = true
      this.#feed.push(this.#held)
    } else this.#feed.push(piece)
    this.#isComplete ||= this.#reading.next().value === true
    return this.#take()
  }

  /** Ends the arguments. If `truncated`, open brackets and strings stay open. */
  end(truncated: boolean): string {
    if (!this.#isObject) return truncated && this.#held !== '' ? '' : asObject(this.#held, this.#tool)
    if (this.#isComplete) return ''
    this.#feed.end(truncated)
    const step = this.#reading.next()
    if (step.value !== true && !truncated && this.#reader.closable) {
      for (const closer of this.#reader.closers.toReversed()) this.#write(closer === '}' ? '}' : ']')
    }
    return this.#take()
  }

  #write(text: string): void {
    this.#out += text
  }

  #take(): string {
    const out = this.#out
    this.#out = ''
    return out
  }
}

/** The object for arguments that do not begin as one: JSON inside a string, the text of the only parameter, or nothing. */
function asObject(held: string, tool: FunctionTool): string {
  const text = unquote(held.trim())
  if (text === '' || text === 'null') return '{}'
  if (text.startsWith('{')) {
    const json = collectText()
    readNow(readObject(jsonReader(completeFeed(text), { out: json.out, strict: false }), declaredArguments(tool)))
    return json.text
  }
  const property = soleStringProperty(declaredArguments(tool))
  return JSON.stringify({ [property ?? 'input']: text })
}

function unquote(text: string): string {
  if (!text.startsWith('"')) return text
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value.trim() : text
  } catch {
    return text
  }
}
