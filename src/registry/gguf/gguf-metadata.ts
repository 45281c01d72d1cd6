import { type GgufCursor, Unreadable } from './gguf-cursor.ts'

/** A value of the metadata. Lists of texts, and values too long to be facts, are represented by their length. */
type MetadataValue = number | boolean | string | readonly (number | boolean)[] | { readonly length: number }

export type Metadata = ReadonlyMap<string, MetadataValue>

type Scalar = { readonly bytes: number; readonly read: (at: Buffer) => number | boolean }

/** The scalar types, by their number; 8 is a string, 9 a list. */
const scalars: Readonly<Record<number, Scalar>> = {
  0: { bytes: 1, read: (at) => at.readUInt8() },
  1: { bytes: 1, read: (at) => at.readInt8() },
  2: { bytes: 2, read: (at) => at.readUInt16LE() },
  3: { bytes: 2, read: (at) => at.readInt16LE() },
  4: { bytes: 4, read: (at) => at.readUInt32LE() },
  5: { bytes: 4, read: (at) => at.readInt32LE() },
  6: { bytes: 4, read: (at) => at.readFloatLE() },
  7: { bytes: 1, read: (at) => at.readUInt8() !== 0 },
  10: { bytes: 8, read: (at) => Number(at.readBigUInt64LE()) },
  11: { bytes: 8, read: (at) => Number(at.readBigInt64LE()) },
  12: { bytes: 8, read: (at) => at.readDoubleLE() },
}
const stringType = 8
const listType = 9
/** Lists with a value for each layer are short; vocabularies are long. */
const longestList = 1024
/** Chat templates are shorter; the tokenizers that some files carry as JSON are longer. */
const longestText = 1 << 20
/** The length of a key, the type of a value, and a byte. */
const leastEntryBytes = 13
/** Model files have about fifty. */
const mostEntries = 4096
/** Four times the most pieces that a vocabulary is known to be merged of. */
const mostTexts = 2 ** 21
/** The length in front of a text. */
const textLengthBytes = 8

/** Reads the entries; the cursor is before their count. */
export function readMetadata(cursor: GgufCursor): Metadata {
  const metadata = new Map<string, MetadataValue>()
  const entries = cursor.count(leastEntryBytes)
  if (entries > mostEntries)
    throw new Unreadable(`the header of the file has ${entries} entries of metadata (at most ${mostEntries})`)
  for (let index = 0; index < entries; index += 1) {
    const key = cursor.key()
    metadata.set(key, readValue(cursor, cursor.uint32()))
  }
  return metadata
}

function readValue(cursor: GgufCursor, type: number): MetadataValue {
  if (type === stringType) return readText(cursor, cursor.uint64())
  if (type === listType) return readList(cursor, cursor.uint32(), cursor.uint64())
  const { bytes, read } = scalarOf(type)
  return read(cursor.take(bytes))
}

function readText(cursor: GgufCursor, length: number): MetadataValue {
  if (length <= longestText) return cursor.text(length)
  cursor.skip(length)
  return { length }
}

function readList(cursor: GgufCursor, type: number, length: number): MetadataValue {
  if (type === stringType) {
    if (length > mostTexts) throw new Unreadable(`a list of the header has ${length} texts (at most ${mostTexts})`)
    cursor.expect(length * textLengthBytes)
    for (let index = 0; index < length; index += 1) cursor.skip(cursor.uint64())
    return { length }
  }
  const { bytes, read } = scalarOf(type)
  if (length > longestList) {
    cursor.skip(bytes * length)
    return { length }
  }
  return Array.from({ length }, () => read(cursor.take(bytes)))
}

/** Throws for a type that cannot be read: a list in a list, which llama.cpp refuses too, or one of a later version. */
function scalarOf(type: number): Scalar {
  const scalar = scalars[type]
  if (scalar === undefined) throw new Unreadable('the header of the file has a type of values that is not known')
  return scalar
}
