import { readFile, writeFile } from 'node:fs/promises'
import { readHeader } from '../../src/registry/gguf/gguf-cursor.ts'
import { readMetadata } from '../../src/registry/gguf/gguf-metadata.ts'
import { leastTensorBytes, readTensor } from '../../src/registry/gguf/gguf-size.ts'

const alignmentBytes = 32
/** Of Q8_0: a scale of two bytes, and 32 numbers of one byte. */
const blockBytes = 34

/** Copies a GGUF file of Q8_0, with the weights of its layers rounded as those of a coarser quantization are. */
export async function writeCoarse(path: string, { from, bits }: { from: string; bits: number }): Promise<void> {
  const bytes = await readFile(from)
  const header = readHeader(bytes, (cursor) => {
    const count = cursor.count(leastTensorBytes)
    readMetadata(cursor)
    return Array.from({ length: count }, () => readTensor(cursor))
  })
  if (header.type !== 'known') throw new Error(`${from} has no header that can be read`)
  const aligned = (length: number) => alignmentBytes * Math.ceil(length / alignmentBytes)
  let at = bytes.length - header.value.reduce((total, tensor) => total + aligned(tensor.bytes), 0)
  const step = 2 ** (8 - bits)
  for (const tensor of header.value) {
    const end = at + aligned(tensor.bytes)
    if (tensor.name.startsWith('blk.') && tensor.bytes % blockBytes === 0) {
      for (let index = 0; index < tensor.bytes; index++) {
        if (index % blockBytes < 2) continue
        const rounded = step * Math.round(bytes.readInt8(at + index) / step)
        bytes.writeInt8(Math.max(-128, Math.min(127, rounded)), at + index)
      }
    }
    at = end
  }
  await writeFile(path, bytes)
}
