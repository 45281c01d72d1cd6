import type { GgufTensor, GgufValue } from './gguf-writer.ts'

export type Gguf = { readonly metadata: ReadonlyMap<string, GgufValue>; readonly tensors: readonly GgufTensor[] }

const alignmentBytes = 32
const scalars = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 } as const

/** What `encodeGguf` writes, from files whose tensors are all F32. Numbers keep their kind, not their width. */
export function readGguf(file: Buffer): Gguf {
  let at = 8
  /** The place of the next bytes, which are read. */
  const take = (bytes: number) => {
    at += bytes
    return at - bytes
  }
  const uint32 = () => file.readUInt32LE(take(4))
  const uint64 = () => Number(file.readBigUInt64LE(take(8)))
  const text = () => {
    const length = uint64()
    const start = take(length)
    return file.toString('utf8', start, start + length)
  }
  const number = (type: keyof typeof scalars): number => {
    const from = take(scalars[type])
    if (type === 6) return file.readFloatLE(from)
    if (type === 12) return file.readDoubleLE(from)
    if (scalars[type] === 8) return Number(file.readBigInt64LE(from))
    return type % 2 === 1 && type !== 7 ? file.readIntLE(from, scalars[type]) : file.readUIntLE(from, scalars[type])
  }
  const value = (): GgufValue => {
    const type = uint32()
    if (type === 8) return { type: 'string', value: text() }
    if (type !== 9) {
      const found = number(type as keyof typeof scalars)
      if (type === 7) return { type: 'bool', value: found === 1 }
      return { type: type === 6 || type === 12 ? 'float32' : type === 5 ? 'int32' : 'uint32', value: found }
    }
    const [of, length] = [uint32(), uint64()]
    if (of === 8) return { type: 'strings', value: Array.from({ length }, text) }
    const numbers = Array.from({ length }, () => number(of as keyof typeof scalars))
    return { type: of === 6 ? 'float32s' : of === 7 ? 'bools' : 'int32s', value: numbers }
  }
  const [tensorCount, valueCount] = [uint64(), uint64()]
  const metadata = new Map(Array.from({ length: valueCount }, () => [text(), value()] as const))
  const found = Array.from({ length: tensorCount }, () => {
    const name = text()
    const shape = Array.from({ length: uint32() }, uint64)
    if (uint32() !== 0) throw new Error(`${name} is not F32`)
    return { name, shape, offset: uint64() }
  })
  const start = Math.ceil(at / alignmentBytes) * alignmentBytes
  const tensors = found.map(({ name, shape, offset }) => {
    const count = shape.reduce((product, length) => product * length, 1)
    const bytes = Uint8Array.prototype.slice.call(file, start + offset, start + offset + 4 * count)
    return { name, shape, data: new Float32Array(bytes.buffer) }
  })
  return { metadata, tensors }
}
