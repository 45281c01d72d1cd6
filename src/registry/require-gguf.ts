import { type FileHandle, open } from 'node:fs/promises'
import { AppError } from '../contract/errors.ts'
import { formatBytes } from './format-bytes.ts'
import { readGgufSize } from './gguf-size.ts'

const readableText = /^[\t\n\r\x20-\x7e]+$/
const shownChars = 40
/** Large vocabularies make headers of several megabytes. */
const firstReadBytes = 1 << 20

/**
 * Throws `model-unavailable` unless the file begins like a GGUF file and is as long as its header says. The message quotes a
 * readable beginning, which often shows what was served instead, such as an HTML page or a Git LFS pointer.
 */
export async function requireGguf(file: string): Promise<void> {
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const bytes = await readBegin(handle, Math.min(firstReadBytes, size))
    const begin = bytes.toString('latin1', 0, shownChars)
    if (begin.startsWith('GGUF')) return await requireWhole(handle, { size, bytes })
    const shown = readableText.test(begin) ? `; it begins with ${JSON.stringify(begin)}` : ''
    throw new AppError('model-unavailable', size === 0 ? 'the file is empty' : `this is not a GGUF file${shown}`)
  } finally {
    await handle.close()
  }
}

async function requireWhole(handle: FileHandle, { size, bytes }: { size: number; bytes: Buffer }): Promise<void> {
  let found = readGgufSize(bytes)
  for (let read = bytes.length; found.type === 'incomplete' && read < size; ) {
    // A header that names more than the file has is cut or damaged: the rest need not be read.
    if (found.neededBytes > size) break
    read = Math.min(size, Math.max(found.neededBytes, read * 4))
    found = readGgufSize(await readBegin(handle, read))
  }
  switch (found.type) {
    case 'unknown':
      return
    case 'known':
      if (found.sizeBytes <= size) return
      throw new AppError(
        'model-unavailable',
        `the file is ${formatBytes(size)} of ${formatBytes(found.sizeBytes)} (bytes missing: ${found.sizeBytes - size}): it was truncated; fetch it again`,
      )
    case 'incomplete':
      throw new AppError(
        'model-unavailable',
        `the file has ${formatBytes(size)} and ends within its header: it was truncated or damaged; fetch it again`,
      )
  }
}

async function readBegin(handle: FileHandle, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
