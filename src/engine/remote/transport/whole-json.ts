import { StringDecoder } from 'node:string_decoder'
import { shortened } from './error-message.ts'
import { type JsonBounds, JsonReader, type TextSink } from './json-reader.ts'
import { withoutSecrets } from './secrets.ts'
import { UpstreamError } from './upstream-error.ts'

/** A shorter document is parsed at once, which is faster. */
const longBytes = 256 * 1024
const maxDepth = 500

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
  if (isTooDeep(text))
    throw new UpstreamError({ type: 'excess' }, 'the server behind this model sent JSON that is nested too deeply')
  try {
    return JSON.parse(text)
  } catch {
    // Redacted before it is shortened: the start of a secret is one, too.
    const start = shortened(withoutSecrets(text.slice(0, 4096)), 100)
    throw new UpstreamError({ type: 'malformed' }, `the server behind this model sent something that is not JSON: ${start}`)
  }
}

/** Whether walking through the value could overflow the stack; brackets in texts count, too. */
function isTooDeep(text: string): boolean {
  if (text.length <= maxDepth) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x5b || code === 0x7b) depth += 1
    else if (code === 0x5d || code === 0x7d) depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}
