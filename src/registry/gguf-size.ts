/** What the header of a GGUF file says about its length. */
export type GgufSize =
  /** The header was read: the file has at least this many bytes. */
  | { readonly type: 'known'; readonly sizeBytes: number }
  /** The header goes on behind the given bytes, at least up to here. */
  | { readonly type: 'incomplete'; readonly neededBytes: number }
  /** A version, or a type of values, that is not known here. */
  | { readonly type: 'unknown' }

/** Bytes of each scalar type of a metadata value, by its number; 8 is a string, 9 an array. */
const scalarBytes: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
}
const stringType = 8
const arrayType = 9

/** Values per block and bytes per block of each tensor type, by ggml's number. */
const blocks: Readonly<Record<number, readonly [values: number, bytes: number]>> = {
  0: [1, 4],
  1: [1, 2],
  2: [32, 18],
  3: [32, 20],
  6: [32, 22],
  7: [32, 24],
  8: [32, 34],
  9: [32, 36],
  10: [256, 84],
  11: [256, 110],
  12: [256, 144],
  13: [256, 176],
  14: [256, 210],
  15: [256, 292],
  16: [256, 66],
  17: [256, 74],
  18: [256, 98],
  19: [256, 50],
  20: [32, 18],
  21: [256, 110],
  22: [256, 82],
  23: [256, 136],
  24: [1, 1],
  25: [1, 2],
  26: [1, 4],
  27: [1, 8],
  28: [1, 8],
  29: [256, 56],
  30: [1, 2],
  34: [256, 54],
  35: [256, 66],
  39: [32, 17],
}

const defaultAlignment = 32

/** Thrown by the cursor when a value lies behind the bytes at hand. */
class NeedsMore extends Error {
  readonly neededBytes: number
  constructor(neededBytes: number) {
    super(`${neededBytes} bytes are needed`)
    this.neededBytes = neededBytes
  }
}

class Unreadable extends Error {}

/** Reads the length of a GGUF file from its first bytes: the end of its last tensor. */
export function readGgufSize(begin: Buffer): GgufSize {
  const cursor = new Cursor(begin)
  try {
    cursor.skip(4)
    const version = cursor.uint32()
    if (version !== 2 && version !== 3) return { type: 'unknown' }
    const tensors = cursor.uint64()
    const alignment = readAlignment(cursor, cursor.uint64())
    let dataBytes = 0
    for (let index = 0; index < tensors; index += 1) dataBytes = Math.max(dataBytes, readTensorEnd(cursor))
    const dataStart = Math.ceil(cursor.position / alignment) * alignment
    return { type: 'known', sizeBytes: tensors === 0 ? cursor.position : dataStart + dataBytes }
  } catch (error) {
    if (error instanceof Unreadable) return { type: 'unknown' }
    if (error instanceof NeedsMore) return { type: 'incomplete', neededBytes: error.neededBytes }
    throw error
  }
}

/** Walks through the metadata; only the alignment of the tensors matters. */
function readAlignment(cursor: Cursor, entries: number): number {
  let alignment = defaultAlignment
  for (let index = 0; index < entries; index += 1) {
    const key = cursor.string()
    const type = cursor.uint32()
    if (key === 'general.alignment' && type === 4) alignment = Math.max(1, cursor.uint32())
    else skipValue(cursor, type)
  }
  return alignment
}

function skipValue(cursor: Cursor, type: number): void {
  if (type === stringType) {
    cursor.skip(cursor.uint64())
  } else if (type === arrayType) {
    const elementType = cursor.uint32()
    const length = cursor.uint64()
    if (elementType !== stringType) cursor.skip(bytesOf(elementType) * length)
    else for (let index = 0; index < length; index += 1) cursor.skip(cursor.uint64())
  } else {
    cursor.skip(bytesOf(type))
  }
}

/** Throws for a type that cannot be skipped: an array in an array, which llama.cpp refuses too, or one of a later version. */
function bytesOf(type: number): number {
  const bytes = scalarBytes[type]
  if (bytes === undefined) throw new Unreadable(`the type ${type} is not known`)
  return bytes
}

/** The end of a tensor's data, counted from the start of all data. */
function readTensorEnd(cursor: Cursor): number {
  cursor.skip(cursor.uint64())
  const dimensions = cursor.uint32()
  let values = 1
  for (let index = 0; index < dimensions; index += 1) values *= cursor.uint64()
  const block = blocks[cursor.uint32()]
  const offset = cursor.uint64()
  // At least its offset, where its type is newer than this table.
  return block === undefined ? offset : offset + Math.ceil(values / block[0]) * block[1]
}

class Cursor {
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
