import type { MediaKind } from '../contract/media.ts'

/** How much one request may refer to. */
export type MediaLimits = {
  readonly maxItems: number
  readonly maxBytes: Readonly<Record<MediaKind, number>>
  /** Of all media of a request. */
  readonly maxTotalBytes: number
  /** Width times height of an image. */
  readonly maxPixels: number
  /** Of audio whose header says it. */
  readonly maxSeconds: number
  /** Of fetching one. */
  readonly timeoutMs: Readonly<Record<MediaKind, number>>
}

const mib = 1024 * 1024

export const defaultLimits: MediaLimits = {
  maxItems: 128,
  maxBytes: { image: 20 * mib, audio: 25 * mib, video: 64 * mib, file: 32 * mib },
  maxTotalBytes: 96 * mib,
  maxPixels: 2 ** 25,
  maxSeconds: 3600,
  timeoutMs: { image: 5000, audio: 10_000, video: 30_000, file: 10_000 },
}

/** Beyond the limits of one request, what all of them share. */
export const defaultMemoryBytes = 512 * mib
/** What one caller can upload. */
export const defaultFiles = { maxBytes: 1024 * mib, maxCount: 1000 }
export const defaultCache = { maxBytes: 256 * mib, ttlMs: 3_600_000 }

/** A size as people write it. */
export function formatBytes(sizeBytes: number): string {
  return sizeBytes < mib ? `${sizeBytes} bytes` : `${Math.round((sizeBytes / mib) * 10) / 10} MiB`
}
