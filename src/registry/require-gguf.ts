import { type FileHandle, open } from 'node:fs/promises'
import { AppError } from '../contract/errors.ts'
import { formatBytes } from './format-bytes.ts'
import { readGgufSize } from './gguf-size.ts'
import { readFileHeader, readFirstBytes } from './read-file-header.ts'

const readableText = /^[\t\n\r\x20-\x7e]+$/
const shownChars = 40

/**
 * Throws `model-unavailable` unless the file begins like a GGUF file and is as long as its header says. The message quotes a
 * readable beginning, which often shows what was served instead, such as an HTML page or a Git LFS pointer.
 */
export async function requireGguf(file: string): Promise<void> {
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const begin = (await readFirstBytes(handle, shownChars)).toString('latin1')
    if (begin.startsWith('GGUF')) return await requireWhole(handle, size)
    const shown = readableText.test(begin) ? `; it begins with ${JSON.stringify(begin)}` : ''
    throw new AppError('model-unavailable', size === 0 ? 'the file is empty' : `this is not a GGUF file${shown}`)
  } finally {
    await handle.close()
  }
}

async function requireWhole(handle: FileHandle, size: number): Promise<void> {
  const found = await readFileHeader(handle, readGgufSize)
  switch (found.type) {
    case 'unknown':
      return
    case 'known':
      if (found.value <= size) return
      throw new AppError(
        'model-unavailable',
        `the file is ${formatBytes(size)} of ${formatBytes(found.value)} (bytes missing: ${found.value - size}): it was truncated; fetch it again`,
      )
    case 'incomplete':
      throw new AppError(
        'model-unavailable',
        `the file has ${formatBytes(size)} and ends within its header: it was truncated or damaged; fetch it again`,
      )
  }
}
