import { setImmediate as nextTurn } from 'node:timers/promises'
import { LruMap } from '../../../../base/lru-map.ts'
import type { Context } from '../../binding/context.ts'
import type { Medium, MediumParts, Senses, Slice } from '../../binding/senses.ts'
import { Turns } from '../../binding/turns.ts'
import type { Rounds } from '../rounds/rounds.ts'

export type Encoded = { readonly slice: Slice; readonly vectors: Float32Array }

/** The bytes of a medium as base64, from whom it belongs to. */
export type FetchMedia = (sha256: string) => Promise<string>

type Encoding = { readonly rounds: Rounds; readonly isOver: () => boolean }

/** How many media are kept as pixels or samples, between the count of their tokens and their encoding. */
const keptDecoded = 16
/** How many media are known by their parts. */
const keptParts = 4096
/** Those of four large pictures; the store of prefixes keeps more, as what a model has read. */
const keptVectorBytes = 64 * 1024 * 1024

type StoreParts = { readonly context: Context; readonly fetch: FetchMedia; readonly log: (message: string) => void }

/** The results of a projector, by the hashes of media: later turns of a conversation send the same ones again. */
export class MediaStore {
  readonly #senses: Senses
  readonly #context: Context
  readonly #fetch: FetchMedia
  readonly #log: (message: string) => void
  readonly #turns = new Turns()
  /** The medium that is being encoded, which must stay decoded. */
  #held: string | undefined
  readonly #parts = new LruMap<string, { readonly parts: MediumParts }>({ max: keptParts })
  readonly #decoded = new Map<string, Promise<Medium | undefined>>()
  readonly #vectors = new LruMap<string, Float32Array>({ max: keptVectorBytes, sizeOf: ({ byteLength }) => byteLength })

  constructor(senses: Senses, { context, fetch, log }: StoreParts) {
    this.#senses = senses
    this.#context = context
    this.#fetch = fetch
    this.#log = log
  }

  get reads(): Senses['reads'] {
    return this.#senses.reads
  }

  /** The tokens and slices of a medium; undefined: it cannot be decoded. `base64`: its bytes, if they are at hand. */
  async partsOf(sha256: string, base64 = ''): Promise<MediumParts | undefined> {
    const known = this.#parts.get(sha256)
    if (known !== undefined) return known.parts
    const parts = (await this.#decode(sha256, base64))?.parts
    if (parts !== undefined) this.#parts.set(sha256, { parts })
    return parts
  }

  /** The vectors of a slice, if it was encoded before. */
  known(sha256: string, part: number): Encoded | undefined {
    const slice = this.#parts.get(sha256)?.parts[part]
    const vectors = this.#vectors.get(keyOf(sha256, part))
    return slice?.type === 'slice' && vectors !== undefined ? { slice, vectors } : undefined
  }

  /** Encodes a slice, unless that was done meanwhile; one after the other, so that one that is over does not begin. */
  encode(sha256: string, part: number, reading: Encoding): Promise<Encoded | 'over'> {
    return this.#turns.take(async () => {
      const known = this.known(sha256, part)
      if (known !== undefined) return known
      if (reading.isOver()) return 'over'
      this.#held = sha256
      const slice = (await this.partsOf(sha256))?.[part]
      const medium = await this.#decode(sha256)
      if (medium === undefined || slice?.type !== 'slice') throw new Error('a medium that was decoded before cannot be any more')
      const startedMs = performance.now()
      const vectors = await this.#compute(() => medium.encode(part), reading)
      if (vectors === 'over') return 'over'
      this.#log(`encoded ${slice.tokens} tokens of a medium in ${Math.round(performance.now() - startedMs)} ms`)
      this.#vectors.set(keyOf(sha256, part), vectors)
      const isEncoded = medium.parts.every(({ type }, index) => type === 'text' || this.known(sha256, index) !== undefined)
      if (isEncoded) this.#drop(sha256)
      return { slice, vectors }
    })
  }

  /** On the CPU beside the passes of streams, which get slower but do not wait; on a GPU, which is fast, in a round. */
  async #compute(encode: () => Promise<Float32Array>, { rounds, isOver }: Encoding): Promise<Float32Array | 'over'> {
    const context = this.#context
    if (context.model.llama.gpu === false) return context.beside(encode)
    let vectors: Float32Array | 'over' = 'over'
    const inRound = async () => {
      if (isOver()) return
      // The passes of this round come first.
      await nextTurn()
      vectors = await context.betweenPasses(encode)
    }
    await rounds.join('prompts', inRound, { isOver })
    return vectors
  }

  #decode(sha256: string, base64 = ''): Promise<Medium | undefined> {
    const found = this.#decoded.get(sha256) ?? this.#read(sha256, base64)
    // The most recently used is the last.
    this.#decoded.delete(sha256)
    this.#decoded.set(sha256, found)
    const oldest = [...this.#decoded.keys()].find((each) => each !== this.#held)
    if (this.#decoded.size > keptDecoded && oldest !== undefined) this.#drop(oldest)
    return found
  }

  async #read(sha256: string, base64: string): Promise<Medium | undefined> {
    try {
      return await this.#senses.read(Buffer.from(base64 === '' ? await this.#fetch(sha256) : base64, 'base64'))
    } catch (error) {
      this.#decoded.delete(sha256)
      throw error
    }
  }

  #drop(sha256: string): void {
    const decoded = this.#decoded.get(sha256)
    this.#decoded.delete(sha256)
    void decoded?.then(
      (medium) => medium?.release(),
      () => undefined,
    )
  }
}

function keyOf(sha256: string, part: number): string {
  return `${sha256} ${part}`
}
