import type { MediaBytes } from './media.ts'

/** How an image shall be: upright, as PNG or JPEG, and within a square where it is to be small. */
export type ImageForm = { readonly maxEdge?: number }

/**
 * Rewrites media that an engine cannot read as they are, in processes that end with the signal. Rejects with `unsupported-field` where the
 * program for it is not there, with `invalid-request` for bytes that cannot be decoded and for results that are too large.
 */
export interface MediaConverter {
  /** Whether `image` can do anything. */
  readonly hasImages: boolean
  /** Whether an image says that it is to be shown turned, which simple decoders do not do. */
  isTurned(media: MediaBytes): boolean
  image(media: MediaBytes, form: ImageForm, signal: AbortSignal): Promise<MediaBytes>
  /** As WAV with one channel. */
  audio(media: MediaBytes, signal: AbortSignal): Promise<MediaBytes>
  /** Pictures of a video, in order: two for each second, or fewer, evenly spread, of a long one. */
  frames(media: MediaBytes, signal: AbortSignal): Promise<readonly MediaBytes[]>
}
