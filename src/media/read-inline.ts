import { setImmediate as nextTurn } from 'node:timers/promises'
import type { MediaItem } from '../contract/media.ts'
import { refuseSize } from './check-bytes.ts'
import { invalid } from './invalid.ts'
import type { MediaLimits } from './limits.ts'
import { decodePercent, parseDataUrl } from './parse-data-url.ts'

/** Bytes, and where they are at hand, their base64 and the declared media type. */
export type FoundBytes = { readonly bytes: Buffer; readonly base64?: string; readonly declared?: string }

/** Percent-encoding without base64 is for small pictures; decoding this many characters takes milliseconds. */
const maxPercentChars = 1024 * 1024

/** Media that the request itself holds as base64. Rejects with `invalid-request`. */
export async function readBase64(base64: string, item: MediaItem, limits: MediaLimits): Promise<FoundBytes> {
  refuseSize(sizeOfBase64(base64), item, limits)
  const bytes = await decodeBase64(base64)
  if (bytes === undefined) {
    const why = /\s/.test(base64)
      ? 'has white space or line breaks in its base64: leave them out'
      : 'is not valid base64: encode the bytes again'
    throw invalid(item.at, why)
  }
  return isStandardBase64(base64) ? { bytes, base64 } : { bytes }
}

export async function readDataUrl(url: string, item: MediaItem, limits: MediaLimits): Promise<FoundBytes> {
  const parsed = parseDataUrl(url)
  if (parsed === undefined) throw notADataUrl(item)
  const declared = parsed.mediaType === '' ? {} : { declared: parsed.mediaType }
  if (parsed.encoding === 'base64') return { ...(await readBase64(await unescapeBase64(parsed.data), item, limits)), ...declared }
  if (parsed.data.length > maxPercentChars) {
    throw invalid(
      item.at,
      `has ${parsed.data.length} percent-encoded characters, more than ${maxPercentChars}: send it as base64`,
    )
  }
  const bytes = decodePercent(parsed.data)
  if (bytes === undefined) throw invalid(item.at, 'is not percent-encoded: each % needs two hexadecimal digits after it')
  return { bytes, ...declared }
}

/** Base64 whose `+`, `/` and `=` may be percent-encoded; decoded in pieces, with other work in between. */
async function unescapeBase64(text: string): Promise<string> {
  if (!text.includes('%')) return text
  let decoded = ''
  for (let start = 0; start < text.length; ) {
    if (start > 0) await nextTurn()
    const end = start + maxPercentChars
    // No piece may end within `%2B`.
    const cut = text.lastIndexOf('%', end - 1)
    const next = cut > end - 3 && end < text.length ? cut : end
    const bytes = decodePercent(text.slice(start, next))
    // Left as it is, the text fails as base64.
    if (bytes === undefined) return text
    decoded += bytes.toString('latin1')
    start = next
  }
  return decoded
}

export function notADataUrl({ at, kind }: MediaItem) {
  return invalid(at, `is not a data: URL: expected data:${kind}/...;base64,...`)
}

/** A multiple of four, so that each piece is base64 by itself; decoding one takes about a millisecond. */
const pieceChars = 1024 * 1024

/** The number of bytes that a base64 text stands for, if it is one. */
function sizeOfBase64(text: string): number {
  return Math.floor((lengthWithoutPadding(text) * 3) / 4)
}

/**
 * The bytes of base64 in either alphabet, without white space; padding may be missing. Undefined for anything else. Other work runs between
 * the pieces of a long text.
 */
async function decodeBase64(text: string): Promise<Buffer | undefined> {
  const length = lengthWithoutPadding(text)
  if (length % 4 === 1 || (text.length !== length && text.length % 4 !== 0)) return undefined
  const bytes = Buffer.allocUnsafe(Math.floor((length * 3) / 4))
  let written = 0
  for (let start = 0; start < length; start += pieceChars) {
    if (start > 0) await nextTurn()
    const piece = text.slice(start, Math.min(start + pieceChars, length))
    const size = Math.floor((piece.length * 3) / 4)
    // Node.js silently skips invalid characters.
    if (bytes.write(piece, written, 'base64') !== size) return undefined
    written += size
  }
  return bytes
}

/** The text itself, if it is padded and in the standard alphabet. */
function isStandardBase64(text: string): boolean {
  return text.length % 4 === 0 && !/[-_]/.test(text)
}

function lengthWithoutPadding(text: string): number {
  if (text.endsWith('==')) return text.length - 2
  return text.endsWith('=') ? text.length - 1 : text.length
}
