import { setImmediate as nextTurn } from 'node:timers/promises'

/** A multiple of four, so that each piece is base64 by itself; decoding one takes about a millisecond. */
const pieceChars = 1024 * 1024

/** The number of bytes that a base64 text stands for, if it is one. */
export function sizeOfBase64(text: string): number {
  return Math.floor((lengthWithoutPadding(text) * 3) / 4)
}

/**
 * The bytes of base64 in either alphabet, without white space; padding may be left out. Undefined for anything else. Others have their
 * turn while a long text is decoded.
 */
export async function decodeBase64(text: string): Promise<Buffer | undefined> {
  const length = lengthWithoutPadding(text)
  if (length % 4 === 1 || (text.length !== length && text.length % 4 !== 0)) return undefined
  const bytes = Buffer.allocUnsafe(Math.floor((length * 3) / 4))
  let written = 0
  for (let start = 0; start < length; start += pieceChars) {
    if (start > 0) await nextTurn()
    const piece = text.slice(start, Math.min(start + pieceChars, length))
    const size = Math.floor((piece.length * 3) / 4)
    // Node.js leaves out what is not base64.
    if (bytes.write(piece, written, 'base64') !== size) return undefined
    written += size
  }
  return bytes
}

/** The text itself, where it is in the standard alphabet and padded. */
export function isStandardBase64(text: string): boolean {
  return text.length % 4 === 0 && !/[-_]/.test(text)
}

function lengthWithoutPadding(text: string): number {
  if (text.endsWith('==')) return text.length - 2
  return text.endsWith('=') ? text.length - 1 : text.length
}
