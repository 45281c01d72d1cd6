import { StringDecoder } from 'node:string_decoder'

/** The size of an output for a model: its beginning, and its end, where errors stand. */
const maxChars = 8000
const endChars = 3000
const noteChars = 200

/** Text that arrives in pieces; the surplus is counted and dropped. */
export class CappedText {
  readonly #decoder = new StringDecoder('utf8')
  #beginning = ''
  #end = ''
  #leftOut = 0

  push(bytes: Buffer): void {
    this.#add(this.#decoder.write(bytes))
  }

  /** The whole text, or both ends with a note between them. */
  finish(): string {
    this.#add(this.#decoder.end())
    if (this.#leftOut === 0) return this.#beginning + this.#end
    return `${this.#beginning}\n[… ${this.#leftOut} characters left out …]\n${this.#end}`
  }

  #add(text: string): void {
    const room = maxChars - endChars - noteChars - this.#beginning.length
    this.#beginning += text.slice(0, room)
    const rest = this.#end + text.slice(room)
    const end = rest.slice(-endChars)
    this.#leftOut += rest.length - end.length
    this.#end = end
  }
}
