import { type FromHeader, type GgufCursor, readHeader } from './gguf-cursor.ts'
import { readMetadata } from './gguf-metadata.ts'

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
/** A tensor's entry in the header: the length of its name, the number of its dimensions, its type, and where its data begins. */
export const leastTensorBytes = 8 + 4 + 4 + 8

/** Reads the length of a GGUF file from its first bytes: the end of its last tensor. The file has at least this many bytes. */
export function readGgufSize(begin: Buffer): FromHeader<number> {
  return readHeader(begin, (cursor) => {
    const tensors = cursor.count(leastTensorBytes)
    const alignment = readMetadata(cursor).get('general.alignment') ?? defaultAlignment
    let dataBytes = 0
    for (let index = 0; index < tensors; index += 1) dataBytes = Math.max(dataBytes, readTensor(cursor).end)
    const step = typeof alignment === 'number' ? Math.max(1, alignment) : defaultAlignment
    const dataStart = Math.ceil(cursor.position / step) * step
    return tensors === 0 ? cursor.position : dataStart + dataBytes
  })
}

/** A tensor's name, its bytes, and the end of its data, counted from the start of all data. */
export function readTensor(cursor: GgufCursor): { readonly name: string; readonly bytes: number; readonly end: number } {
  const name = cursor.key()
  const dimensions = cursor.uint32()
  let values = 1
  for (let index = 0; index < dimensions; index += 1) values *= cursor.uint64()
  const block = blocks[cursor.uint32()]
  const offset = cursor.uint64()
  // At least its offset, if its type is newer than this table.
  const bytes = block === undefined ? 0 : Math.ceil(values / block[0]) * block[1]
  return { name, bytes, end: offset + bytes }
}
