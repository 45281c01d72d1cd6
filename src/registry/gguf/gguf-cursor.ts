/** What was read from the first bytes of a GGUF file. */
export type FromHeader<T> =
  | { readonly type: 'known'; readonly value: T }
  /** The header goes on behind the given bytes, at least up to here. */
  | { readonly type: 'incomplete'; readonly neededBytes: number }
  /** A version, or a type of values, that is not known here. */
  | { readonly type: 'unknown' }

/** Reads from a header, with a cursor behind its magic and version. */
export function readHeader<T>(begin: Buffer, read: (cursor: GgufCursor) => T): FromHeader<T> {
  const cursor = new GgufCursor(begin)
  try {
    cursor.skip(4)
    const version = cursor.uint32()
    if (version !== 2 && version !== 3) return { type: 'unknown' }
    return { type: 'known', value: read(cursor) }
  } catch (error) {
    if (error instanceof Unreadable) return { type: 'unknown' }
    if (error instanceof NeedsMore) return { type: 'incomplete', neededBytes: error.neededBytes }
    throw error
  }
}

/** A value lies behind the bytes at hand. */
class NeedsMore extends Error {
  readonly neededBytes: number
  constructor(neededBytes: number) {
    super(`${neededBytes} bytes are needed`)
    this.neededBytes = neededBytes
  }
}

/** A version, or a type of values, that is not known here. */
export class Unreadable extends Error {}

/** Reads one value after the other, and fails where the bytes at hand end. */
export class GgufCursor {
  readonly #bytes: Buffer
  position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  skip(count: number): void {
    this.#require(count)
    this.position += count
  }

  uint32(): number {
    this.#require(4)
    this.position += 4
    return this.#bytes.readUInt32LE(this.position - 4)
  }

  /** The bytes of the next value of this length. */
  take(length: number): Buffer {
    this.skip(length)
    return this.#bytes.subarray(this.position - length, this.position)
  }

  /** Exact up to 2^53, and larger than any file beyond. */
  uint64(): number {
    this.#require(8)
    this.position += 8
    return Number(this.#bytes.readBigUInt64LE(this.position - 8))
  }

  string(): string {
    const length = this.uint64()
    this.#require(length)
    this.position += length
    return this.#bytes.toString('latin1', this.position - length, this.position)
  }

  #require(count: number): void {
    if (this.position + count > this.#bytes.length) throw new NeedsMore(this.position + count)
  }
}
