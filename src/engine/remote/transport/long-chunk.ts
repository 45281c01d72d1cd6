import { type JsonBounds, JsonReader, type Path, type TextSink } from './json-reader.ts'
import { asCount, asObject } from './loose-json.ts'

/** The bounds of one chunk, and of a reply that is not streamed. */
export const chunkBounds: JsonBounds = { maxLength: 96 * 1024 * 1024, maxUnits: 4 * 1024 * 1024 }

/** A long text of a message, whose fields may be in any order. */
type Deferred = {
  readonly message: { [key: string]: unknown }
  readonly name: string
  readonly index: number
  readonly pieces: string[]
}

/** A chunk or a whole reply that is too long to be parsed at once: its long texts become chunks of their own. */
export class LongChunk {
  #reader: JsonReader | undefined
  #pieces: unknown[] = []
  #deferred: Deferred[] = []

  get isOpen(): boolean {
    return this.#reader !== undefined
  }

  /** Where the long texts of a reader go. */
  readonly sink: TextSink = (path, owners) => {
    if (path[0] === 'delta') return this.#inDelta(path, owners)
    const [root, position, holder, name] = path
    if (root !== 'choices' || typeof position !== 'number') return undefined
    const [, , choice, message] = owners.map(asObject)
    const index = asCount(choice?.index) ?? position
    if (path.length === 3 && holder === 'text' && choice?.delta === undefined && choice?.message === undefined) {
      return (text) => void this.#pieces.push({ choices: [{ index, text }] })
    }
    if (path.length !== 4 || message === undefined || typeof name !== 'string' || !isText(name, message)) return undefined
    if (holder === 'delta') return (text) => void this.#pieces.push(chunkOf(index, name, text))
    if (holder !== 'message') return undefined
    const pieces: string[] = []
    this.#deferred.push({ message, name, index, pieces })
    return (text) => void pieces.push(text)
  }

  /** An event of Messages, which names its type before its text. */
  #inDelta([, name]: Path, [event]: readonly unknown[]): ReturnType<TextSink> {
    const { type, index } = asObject(event) ?? {}
    if (type !== 'content_block_delta' || (name !== 'text' && name !== 'thinking')) return undefined
    return (text) => void this.#pieces.push({ type, index, delta: { type: `${name}_delta`, [name]: text } })
  }

  /** The chunks that are complete so far. */
  push(data: string, isLast: boolean): readonly unknown[] {
    this.#reader ??= new JsonReader(chunkBounds, this.sink)
    this.#reader.push(data)
    if (!isLast) return this.takePieces()
    const value = this.#reader.end()
    this.release()
    return this.complete(value)
  }

  takePieces(): readonly unknown[] {
    const pieces = this.#pieces
    if (pieces.length > 0) this.#pieces = []
    return pieces
  }

  /** The last chunks: of a message, the reasoning comes first. */
  complete(value: unknown): readonly unknown[] {
    const deferred = this.#deferred.toSorted((one, other) => Number(one.name === 'content') - Number(other.name === 'content'))
    this.#deferred = []
    const chunks = deferred.flatMap(({ message, name, index, pieces }) => {
      const rest = String(message[name])
      message[name] = ''
      return [...pieces, rest].map((text) => chunkOf(index, name, text))
    })
    return [...this.takePieces(), ...chunks, value]
  }

  release(): void {
    this.#reader?.release()
    this.#reader = undefined
  }
}

/** Reasoning may be in two fields with the same text. */
function isText(name: string, message: { readonly [key: string]: unknown }): boolean {
  return name === 'content' || name === 'reasoning_content' || (name === 'reasoning' && message.reasoning_content === undefined)
}

function chunkOf(index: number, name: string, text: string): unknown {
  return { choices: [{ index, delta: { [name]: text } }] }
}
