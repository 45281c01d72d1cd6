import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CanonicalPath } from '../contract/field.ts'
import type { MediaBytes, MediaKind } from '../contract/media.ts'
import { readDurationMs } from './audio-duration.ts'
import { readImageSize } from './image-size.ts'
import { invalid } from './invalid.ts'
import { formatBytes, type MediaLimits } from './limits.ts'
import { acceptedTypes, detectType, documentType, kindOfBytes, sniff } from './media-type.ts'

export type Facts = Omit<MediaBytes, 'type' | 'base64'>

type Claim = { readonly kind: MediaKind; readonly declared?: string | undefined; readonly at: CanonicalPath }

/** Hashing one piece takes about a millisecond. */
const pieceBytes = 1024 * 1024

/**
 * Identifies bytes and checks them against the limits of their kind; those of a file may be of any kind. Rejects with `invalid-request` for
 * another kind, and beyond the limits.
 */
export async function checkBytes(bytes: Buffer, { kind: named, declared, at }: Claim, limits: MediaLimits): Promise<Facts> {
  refuseSize(bytes.length, { kind: named, at }, limits)
  if (bytes.length === 0) throw invalid(at, 'is empty')
  const kind = named === 'file' ? await kindOfBytes(bytes) : named
  refuseSize(bytes.length, { kind, at }, limits)
  if (kind === 'file') {
    return { sizeBytes: bytes.length, mediaType: documentType(bytes, declared), sha256: await hashOf(bytes) }
  }
  const mediaType = await detectType(bytes, kind)
  if (mediaType === undefined) throw await wrongKind(bytes, kind, at)
  const known = { sizeBytes: bytes.length, mediaType }
  const check = kind === 'image' ? checkPixels : checkDuration
  return { ...known, ...check(bytes, { mediaType, at }, limits), sha256: await hashOf(bytes) }
}

/** Throws for media that are too large, as far as that shows before they are read. */
export function refuseSize(sizeBytes: number, { kind, at }: Omit<Claim, 'declared'>, { maxBytes }: MediaLimits): void {
  if (sizeBytes <= maxBytes[kind]) return
  const limit = `media.maxBytes.${kind}, ${formatBytes(maxBytes[kind])}`
  throw invalid(at, `has ${formatBytes(sizeBytes)}, more than the limit (${limit}): send a smaller one`)
}

async function wrongKind(bytes: Buffer, kind: Exclude<MediaKind, 'file'>, at: CanonicalPath) {
  const found = await sniff(bytes)
  const what = found === undefined ? 'of no known type' : found
  const article = kind === 'image' ? 'an image' : kind === 'video' ? 'a video' : 'audio'
  return invalid(at, `is not ${article} that can be read: by its bytes it is ${what}; send ${acceptedTypes[kind]}`)
}

type Typed = { readonly mediaType: string; readonly at: CanonicalPath }

function checkPixels(bytes: Buffer, { mediaType, at }: Typed, { maxPixels }: MediaLimits) {
  const size = readImageSize(bytes, mediaType)
  if (size === undefined) throw invalid(at, `is a damaged ${mediaType} image: its width and height cannot be read`)
  if (size.width * size.height <= maxPixels) return size
  const limit = `media.maxPixels, ${maxPixels}`
  throw invalid(at, `is an image of ${size.width} × ${size.height} pixels, more than the limit (${limit}): send a smaller one`)
}

function checkDuration(bytes: Buffer, { mediaType, at }: Typed, { maxSeconds }: MediaLimits) {
  const durationMs = readDurationMs(bytes, mediaType)
  if (durationMs === undefined) return {}
  if (durationMs <= maxSeconds * 1000) return { durationMs }
  const seconds = Math.round(durationMs / 1000)
  throw invalid(at, `lasts ${seconds} seconds, more than the limit (media.maxSeconds, ${maxSeconds}): send a shorter part`)
}

async function hashOf(bytes: Buffer): Promise<string> {
  const sum = createHash('sha256')
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    if (start > 0) await nextTurn()
    sum.update(bytes.subarray(start, start + pieceBytes))
  }
  return sum.digest('hex')
}
