import { createHash } from 'node:crypto'
import type { AffinityKey } from './affinity-key.ts'
import type { PrefixKey } from './prefix-memory.ts'

type Key = { -readonly [Name in keyof AffinityKey]: AffinityKey[Name] }
type Marks = Pick<AffinityKey, 'isRoot' | 'isPrevious'>

/** Hashes a prompt from its beginning to its end. The keys are its states at some places. */
export class PrefixWalk {
  readonly #hash = createHash('sha1')
  readonly #ends: { readonly size: number; readonly key: Key }[] = []
  #size = 0
  #systemSize = 0
  #blocksFrom = 0
  #nextBlock = Number.POSITIVE_INFINITY
  #lastBlock: Key | undefined
  #isOpening = false

  /** From here on, there are keys after 1, 2, 4 and so on blocks of this size. */
  startBlocks(size: number): void {
    this.#blocksFrom = this.#size
    this.#nextBlock = this.#size + size
  }

  endBlocks(): void {
    this.#nextBlock = Number.POSITIVE_INFINITY
    this.#isOpening = false
  }

  /** Here ends what other conversations share. Their group is what its last block ends, since the rest may name the day or the user. */
  endSystem(): void {
    if (this.#size > 0) {
      const end = this.mark({})
      const group = this.#lastBlock ?? end
      group.isGroup = true
    }
    this.#systemSize = this.#size
    this.#isOpening = true
  }

  text(text: string): void {
    let at = 0
    while (this.#size + text.length - at > this.#nextBlock) {
      const end = at + this.#nextBlock - this.#size
      this.#hash.update(text.slice(at, end))
      this.#size += end - at
      at = end
      this.#endBlock()
    }
    // Includes the length, so that the concatenation of two texts has another hash than the two.
    this.#hash.update(at === 0 ? text : text.slice(at)).update(`:${text.length};`)
    this.#size += text.length - at
  }

  tokens(tokens: readonly number[]): void {
    this.#hash.update(Uint32Array.from(tokens))
    this.#size += tokens.length
  }

  medium(sha256: string, size: number): void {
    this.#hash.update(`${sha256};`)
    this.#size += size
    if (this.#size > this.#nextBlock) this.#endBlock()
  }

  /** What comes before this place is a key. */
  mark(marks: Marks): Key {
    const last = this.#ends.at(-1)
    if (last?.size === this.#size) return Object.assign(last.key, marks)
    const key: Key = { ...keyOf(this.#hash.copy().digest()), ...marks }
    this.#ends.push({ size: this.#size, key })
    return key
  }

  /** The keys, the longest first. */
  keys(): AffinityKey[] {
    const size = this.#size
    const ends = this.#ends.toReversed()
    const previous = ends.findIndex(({ key }) => key.isPrevious)
    for (const [index, end] of ends.entries()) {
      end.key.share = size === 0 ? 1 : end.size / size
      if (previous === -1 ? end.size <= this.#systemSize : index > previous) end.key.isOld = true
    }
    return ends.map(({ key }) => key)
  }

  #endBlock(): void {
    this.#lastBlock = this.mark({})
    if (this.#isOpening) this.#lastBlock.isOpening = true
    this.#isOpening = false
    while (this.#nextBlock <= this.#size) this.#nextBlock += this.#nextBlock - this.#blocksFrom
  }
}

export function hashOf(text: string): PrefixKey {
  return keyOf(createHash('sha1').update(text).digest())
}

function keyOf(digest: Buffer): PrefixKey {
  return { high: digest.readUInt32LE(0), low: digest.readUInt32LE(4) }
}
