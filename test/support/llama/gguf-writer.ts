/** A metadata value with the type it has in the file. Only the types our models need. */
export type GgufValue =
  | { readonly type: 'uint16' | 'uint32' | 'int32' | 'float32'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'int32s' | 'float32s' | 'bools'; readonly value: readonly number[] }

/** An F32 tensor. `shape` is in ggml's order: the contiguous dimension (a row's length) comes first. */
export type GgufTensor = {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Float32Array
}

const alignmentBytes = 32
const version = 3
const typeIds = { uint16: 2, uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const
const ggmlTypeF32 = 0

/**
 * The bytes of a GGUF version 3 file (little endian, tensor data aligned to 32 bytes), metadata and tensors in the order given.
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
export function encodeGguf(metadata: ReadonlyMap<string, GgufValue>, tensors: readonly GgufTensor[]): Buffer {
  const parts = [Buffer.from('GGUF'), uint32(version), uint64(tensors.length), uint64(metadata.size)]
  for (const [key, value] of metadata) parts.push(string(key), encodeValue(value))

  let offset = 0
  for (const { name, shape, data } of tensors) {
    const count = shape.reduce((product, size) => product * size, 1)
    if (count !== data.length) throw new Error(`tensor '${name}' has ${data.length} values, its shape says ${count}`)
    parts.push(string(name), uint32(shape.length), ...shape.map(uint64), uint32(ggmlTypeF32), uint64(offset))
    offset += alignedSize(data.length * 4)
  }

  const headerBytes = parts.reduce((sum, part) => sum + part.length, 0)
  parts.push(Buffer.alloc(alignedSize(headerBytes) - headerBytes))
  for (const { data } of tensors) parts.push(padded(numbers(data, 'writeFloatLE')))
  return Buffer.concat(parts)
}

function encodeValue(value: GgufValue): Buffer {
  switch (value.type) {
    case 'uint16':
      return Buffer.concat([uint32(typeIds.uint16), numbers([value.value], 'writeUInt16LE', 2)])
    case 'uint32':
      return Buffer.concat([uint32(typeIds.uint32), uint32(value.value)])
    case 'int32':
      return Buffer.concat([uint32(typeIds.int32), numbers([value.value], 'writeInt32LE')])
    case 'float32':
      return Buffer.concat([uint32(typeIds.float32), numbers([value.value], 'writeFloatLE')])
    case 'bool':
      return Buffer.concat([uint32(typeIds.bool), Buffer.from([value.value ? 1 : 0])])
    case 'string':
      return Buffer.concat([uint32(typeIds.string), string(value.value)])
    case 'strings':
      return array(typeIds.string, value.value.length, Buffer.concat(value.value.map(string)))
    case 'int32s':
      return array(typeIds.int32, value.value.length, numbers(value.value, 'writeInt32LE'))
    case 'bools':
      return array(typeIds.bool, value.value.length, Buffer.from(value.value))
    case 'float32s':
      return array(typeIds.float32, value.value.length, numbers(value.value, 'writeFloatLE'))
  }
}

function array(elementTypeId: number, length: number, elements: Buffer): Buffer {
  return Buffer.concat([uint32(typeIds.array), uint32(elementTypeId), uint64(length), elements])
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([uint64(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function numbers(values: ArrayLike<number>, write: 'writeFloatLE' | 'writeInt32LE' | 'writeUInt16LE', size = 4): Buffer {
  const bytes = Buffer.alloc(values.length * size)
  for (let index = 0; index < values.length; index++) bytes[write](values[index] ?? 0, index * size)
  return bytes
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes], alignedSize(bytes.length))
}

function alignedSize(sizeBytes: number): number {
  return Math.ceil(sizeBytes / alignmentBytes) * alignmentBytes
}
