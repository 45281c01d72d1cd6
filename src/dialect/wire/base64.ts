import { AppError } from '../../contract/errors.ts'

/** A multiple of four, so that each piece is base64 by itself. */
const pieceChars = 1024 * 1024

/** Throws `invalid-request` for text that is not base64: it would reach a model's server as an image or a sound. */
export function refuseBadBase64(text: string, param: string): void {
  const length = text.replace(/={1,2}$/, '').length
  let isGood = length % 4 !== 1 && (text.length === length || text.length % 4 === 0)
  for (let start = 0; isGood && start < length; start += pieceChars) {
    const piece = text.slice(start, Math.min(start + pieceChars, length))
    // Node.js leaves out what is not base64.
    isGood = Buffer.from(piece, 'base64').length === Math.floor((piece.length * 3) / 4)
  }
  if (isGood) return
  throw new AppError('invalid-request', `${param} is not valid base64: encode the bytes again`, { param })
}
