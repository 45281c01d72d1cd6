/** The result of reading the first bytes of a GGUF file. */
export type FromHeader<T> =
  | { readonly type: 'known'; readonly value: T }
  /** The header continues behind the given bytes, at least up to here. */
  | { readonly type: 'incomplete'; readonly neededBytes: number }
  /** `why`: an unknown value, such as a version, or one larger than in any model. */
  | { readonly type: 'unknown'; readonly why: string }

/** Reads from a header, with a cursor behind its magic and version. */
export function readHeader<T>(begin: Buffer, read: (cursor: GgufCursor) => T): FromHeader<T> {
  const cursor = new GgufCursor(begin)
  try {
    cursor.skip(4)
    const version = cursor.uint32()
    if (version !== 2 && version !== 3) return { type: 'unknown', why: `the file has version ${version} of the GGUF format` }
    return { type: 'known', value: read(cursor) }
  } catch (error) {
    if (error instanceof Unreadable) return { type: 'unknown', why: error.message }
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

/** An unknown value, or one larger than in any model; operators read the message. */
export class Unreadable extends Error {}

/** The format allows no longer keys; names of tensors are shorter. */
const longestName = 0xffff

/** Reads one value after the other, and fails where the bytes at hand end. */
export class GgufCursor {
  readonly #bytes: Buffer
  position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  skip(count: number): void {
    this.expect(count)
    this.position += count
  }

  uint32(): number {
    this.expect(4)
    this.position += 4
    return this.#bytes.readUInt32LE(this.position - 4)
  }

  take(length: number): Buffer {
    this.skip(length)
    return this.#bytes.subarray(this.position - length, this.position)
  }

  /** Exact up to 2^53, which no file reaches. */
  uint64(): number {
    const low = this.uint32()
    return this.uint32() * 2 ** 32 + low
  }

  /** The number of entries that follow, of at least `leastBytes` each: a count that the file has no room for ends the reading. */
  count(leastBytes: number): number {
    const entries = this.uint64()
    this.expect(entries * leastBytes)
    return entries
  }

  /** Ends the reading if fewer bytes follow. */
  expect(count: number): void {
    if (this.position + count > this.#bytes.length) throw new NeedsMore(this.position + count)
  }

  key(): string {
    const length = this.uint64()
    if (length > longestName) throw new Unreadable(`a key of the header has ${length} bytes (at most ${longestName})`)
    return this.text(length)
  }

  text(length: number): string {
    return this.take(length).toString('latin1')
  }
}
