import { StringDecoder } from 'node:string_decoder'
import { shortened } from './error-message.ts'
import { type JsonBounds, JsonReader } from './json-reader.ts'
import { withoutSecrets } from './secrets.ts'
import { UpstreamError } from './upstream-error.ts'

/** The bounds of one event, and of a generated reply that is not streamed. */
export const replyBounds: JsonBounds = { maxLength: 96 * 1024 * 1024, maxUnits: 4 * 1024 * 1024 }

/** Shorter documents are parsed in one piece, which is faster. */
const longLength = 256 * 1024
const maxDepth = 500

/** The JSON document of a whole body: parsed at its end, or, if it is long, as it arrives. */
export class WholeJson {
  readonly #bounds: JsonBounds
  readonly #decoder = new StringDecoder('utf8')
  #pieces: Buffer[] = []
  #length = 0
  #reader: JsonReader | undefined
  #isFirst = true

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds
  }

  push(bytes: Buffer): void {
    this.#length += bytes.length
    if (this.#reader === undefined && this.#length <= longLength) {
      this.#pieces.push(bytes)
      return
    }
    this.#reader ??= new JsonReader(this.#bounds)
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

  /** Releases the reserved memory. */
  release(): void {
    this.#reader?.release()
  }

  #read(bytes: Buffer): void {
    const text = this.#decoder.write(bytes)
    this.#reader?.push(this.#isFirst && text.startsWith('\ufeff') ? text.slice(1) : text)
    this.#isFirst = false
  }
}

/** The JSON of a text. Throws an `UpstreamError` for anything else. */
export function parseJson(text: string): unknown {
  return text.length > longLength ? parseLong(text) : parseShort(text)
}

/** Also bounds the number of values: many small values take longer than one text. */
function parseLong(text: string): unknown {
  const reader = new JsonReader(replyBounds)
  try {
    reader.push(text)
    return reader.end()
  } finally {
    reader.release()
  }
}

function parseShort(text: string): unknown {
  if (isTooDeep(text))
    throw new UpstreamError({ type: 'excess' }, 'the server behind this model sent JSON that is nested too deeply')
  try {
    return JSON.parse(text)
  } catch {
    // Masked before it is shortened: the start of a secret is a secret, too.
    const start = shortened(withoutSecrets(text.slice(0, 4096)), 100)
    throw new UpstreamError({ type: 'malformed' }, `the server behind this model sent something that is not JSON: ${start}`)
  }
}

/** Whether walking through the value could overflow the stack. Brackets in texts count, too. */
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
