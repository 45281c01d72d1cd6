import type { MediaKind } from '../contract/media.ts'

/** The limits of one request's references. */
export type MediaLimits = {
  readonly maxItems: number
  readonly maxBytes: Readonly<Record<MediaKind, number>>
  /** For all media of a request together. */
  readonly maxTotalBytes: number
  /** Width times height of an image. */
  readonly maxPixels: number
  /** For audio whose header states its duration. */
  readonly maxSeconds: number
  /** For fetching one item. */
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

/** The memory that all requests share, beyond the limits of each. */
export const defaultMemoryBytes = 512 * mib
/** The limits of one caller's uploads. */
export const defaultFiles = { maxBytes: 1024 * mib, maxCount: 1000 }
/** For a file of purpose `batch`: OpenAI's limit. */
export const maxBatchBytes = 200 * mib
export const defaultCache = { maxBytes: 256 * mib, ttlMs: 3_600_000 }

/** A size as people write it. */
export function formatBytes(sizeBytes: number): string {
  return sizeBytes < mib ? `${sizeBytes} bytes` : `${Math.round((sizeBytes / mib) * 10) / 10} MiB`
}
