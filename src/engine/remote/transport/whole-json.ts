import { StringDecoder } from 'node:string_decoder'
import { type JsonBounds, JsonReader, type TextSink } from './json-reader.ts'
import { UpstreamError } from './upstream-error.ts'

/** A shorter document is parsed at once, which is faster. */
const longBytes = 256 * 1024

/** The JSON document of a whole body: parsed at its end, or as it arrives once it is long. */
export class WholeJson {
  readonly #bounds: JsonBounds
  readonly #sink: TextSink | undefined
  readonly #decoder = new StringDecoder('utf8')
  #pieces: Buffer[] = []
  #length = 0
  #reader: JsonReader | undefined
  #isFirst = true

  constructor(bounds: JsonBounds, sink?: TextSink) {
    this.#bounds = bounds
    this.#sink = sink
  }

  push(bytes: Buffer): void {
    this.#length += bytes.length
    if (this.#reader === undefined && this.#length <= longBytes) {
      this.#pieces.push(bytes)
      return
    }
    this.#reader ??= new JsonReader(this.#bounds, this.#sink)
    for (const earlier of this.#pieces) this.#read(earlier)
    this.#pieces = []
    this.#read(bytes)
  }

  /** The document. Throws an `UpstreamError` for anything else. */
  end(): unknown {
    if (this.#reader !== undefined) return this.#reader.end()
    const text = Buffer.concat(this.#pieces).toString('utf8')
    return parseJson(text.startsWith('\ufeff') ? text.slice(1) : text)
  }

  /** Gives back the memory that was reserved. */
  release(): void {
    this.#reader?.release()
  }

  #read(bytes: Buffer): void {
    const text = this.#decoder.write(bytes)
    this.#reader?.push(this.#isFirst && text.startsWith('\ufeff') ? text.slice(1) : text)
    this.#isFirst = false
  }
}

/** The JSON of a short text. Throws an `UpstreamError` for anything else. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const start = text.length > 100 ? `${text.slice(0, 100)}…` : text
    const message = `the server behind this model sent something that is not JSON: ${start}`
    throw new UpstreamError({ type: 'malformed' }, message, { cause })
  }
}
