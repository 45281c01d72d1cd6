import { LruMap } from '../../../../base/lru-map.ts'
import type { Medium, MediumParts, Senses, Slice } from '../../binding/senses.ts'

/** The hash and the bytes of a medium. */
export type Content = { readonly sha256: string; readonly base64: string }

/** The vectors of a slice. */
export type Encoded = { readonly slice: Slice; readonly vectors: Float32Array }

/** How many media are kept as pixels or samples, between the count of their tokens and their encoding. */
const keptDecoded = 16
/** How many media are known by their parts. */
const keptParts = 4096
const keptVectorBytes = 256 * 1024 * 1024

/** The results of a projector, by the hashes of media: later turns of a conversation send the same ones again. */
export class MediaStore {
  readonly #senses: Senses
  readonly #log: (message: string) => void
  readonly #parts = new LruMap<string, { readonly parts: MediumParts }>({ max: keptParts })
  readonly #decoded = new Map<string, Promise<Medium | undefined>>()
  readonly #vectors = new LruMap<string, Float32Array>({ max: keptVectorBytes, sizeOf: ({ byteLength }) => byteLength })

  constructor(senses: Senses, log: (message: string) => void) {
    this.#senses = senses
    this.#log = log
  }

  get reads(): Senses['reads'] {
    return this.#senses.reads
  }

  /** The tokens and slices of a medium; undefined: it cannot be decoded. */
  async partsOf(content: Content): Promise<MediumParts | undefined> {
    const known = this.#parts.get(content.sha256)
    if (known !== undefined) return known.parts
    const parts = (await this.#decode(content))?.parts
    if (parts !== undefined) this.#parts.set(content.sha256, { parts })
    return parts
  }

  /** The vectors of a slice, if it was encoded before. */
  known(sha256: string, part: number): Encoded | undefined {
    const slice = this.#parts.get(sha256)?.parts[part]
    const vectors = this.#vectors.get(`${sha256} ${part}`)
    return slice?.type === 'slice' && vectors !== undefined ? { slice, vectors } : undefined
  }

  /** Encodes a slice, unless that was done meanwhile. */
  async encode(content: Content, part: number): Promise<Encoded> {
    const known = this.known(content.sha256, part)
    if (known !== undefined) return known
    const parts = await this.partsOf(content)
    const slice = parts?.[part]
    const medium = await this.#decode(content)
    if (medium === undefined || slice?.type !== 'slice') throw new Error('a medium that was decoded before cannot be any more')
    const startedMs = performance.now()
    const vectors = await medium.encode(part)
    this.#log(`encoded ${slice.tokens} tokens of a medium in ${Math.round(performance.now() - startedMs)} ms`)
    this.#vectors.set(`${content.sha256} ${part}`, vectors)
    if (parts?.every((each, index) => each.type === 'text' || this.known(content.sha256, index) !== undefined)) {
      this.#drop(content.sha256)
    }
    return { slice, vectors }
  }

  #decode({ sha256, base64 }: Content): Promise<Medium | undefined> {
    const found = this.#decoded.get(sha256) ?? this.#senses.read(Buffer.from(base64, 'base64'))
    // The most recently used is the last.
    this.#decoded.delete(sha256)
    this.#decoded.set(sha256, found)
    const [oldest = sha256] = this.#decoded.keys()
    if (this.#decoded.size > keptDecoded) this.#drop(oldest)
    return found
  }

  #drop(sha256: string): void {
    const decoded = this.#decoded.get(sha256)
    this.#decoded.delete(sha256)
    void decoded?.then((medium) => medium?.release())
  }
}
