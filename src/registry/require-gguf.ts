import { open } from 'node:fs/promises'
import { AppError } from '../contract/errors.ts'

const readableText = /^[\t\n\r\x20-\x7e]+$/
const shownChars = 40

/**
 * Throws `model-unavailable` unless the file begins like a GGUF file. The message quotes a readable beginning, which often
 * shows what was served instead, such as an HTML page or a Git LFS pointer.
 */
export async function requireGguf(file: string): Promise<void> {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(shownChars), 0, shownChars, 0)
    const begin = buffer.toString('latin1', 0, bytesRead)
    if (begin.startsWith('GGUF')) return
    const shown = readableText.test(begin) ? `; it begins with ${JSON.stringify(begin)}` : ''
    throw new AppError('model-unavailable', bytesRead === 0 ? 'the file is empty' : `this is not a GGUF file${shown}`)
  } finally {
    await handle.close()
  }
}
