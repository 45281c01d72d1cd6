import type { FileHandle } from 'node:fs/promises'
import type { FromHeader } from './gguf-cursor.ts'

/** Large vocabularies make headers of several megabytes. */
const firstReadBytes = 1 << 20
/** Three times the largest known vocabularies. The header is read in one go and held in memory, even from untrusted files. */
const longestHeader = 64 << 20

/** Reads from the header of an open file, as `readHeaderFrom`. */
export async function readFileHeader<T>(handle: FileHandle, read: (begin: Buffer) => FromHeader<T>): Promise<FromHeader<T>> {
  const { size } = await handle.stat()
  return readHeaderFrom({ size, first: (length) => readFirstBytes(handle, length) }, read)
}

type Beginning = {
  readonly size: number
  /** The first bytes, of which there may be fewer. */
  first(length: number): Promise<Buffer>
}

/** Reads from the header of a file, as many of its first bytes as that takes. `incomplete`: the file ends within its header. */
export async function readHeaderFrom<T>(
  { size, first }: Beginning,
  read: (begin: Buffer) => FromHeader<T>,
): Promise<FromHeader<T>> {
  let length = Math.min(firstReadBytes, size)
  let found = read(await first(length))
  // A header that needs more than the file has is truncated or damaged: the rest need not be read.
  while (found.type === 'incomplete' && length < size && found.neededBytes <= size) {
    if (found.neededBytes > longestHeader)
      return { type: 'unknown', why: `the header of the file is longer than ${longestHeader} bytes` }
    length = Math.min(size, longestHeader, Math.max(found.neededBytes, length * 4))
    found = read(await first(length))
  }
  return found
}

/** The first bytes of a file, or all of a shorter one. */
export async function readFirstBytes(handle: FileHandle, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
