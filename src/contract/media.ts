import type { CanonicalPath } from './field.ts'
import type { Principal } from './principal.ts'

export type MediaKind = 'image' | 'audio' | 'video' | 'file'

/** Media as a caller names them. Dialects make these and check nothing; engines never see one. */
export type MediaReference =
  /** `data:`, `http:`, `https:` or `file:`; other schemes are refused. */
  | { readonly type: 'url'; readonly url: string }
  /** `mediaType` as declared, if it was: the bytes decide. */
  | { readonly type: 'base64'; readonly base64: string; readonly mediaType?: string }
  /** A file that was uploaded to this server. */
  | { readonly type: 'file'; readonly id: string }

/** Media that were read and checked. Engines get only these, so that no engine fetches what a caller names. */
export type MediaBytes = {
  readonly type: 'bytes'
  /** With padding and without white space. */
  readonly base64: string
  readonly sizeBytes: number
  /** Of the bytes, in lower-case hexadecimal digits. */
  readonly sha256: string
  /** What the bytes are, such as `image/png`. */
  readonly mediaType: string
  /** Of an image, in pixels. */
  readonly width?: number
  readonly height?: number
  /** Of audio and video, where the header says it. */
  readonly durationMs?: number
}

/** A reference, and its place in the canonical request: the part's path and `source`. Errors are `at` it. */
export type MediaItem = { readonly kind: MediaKind; readonly source: MediaReference; readonly at: CanonicalPath }

/** Reads what requests refer to, within limits of bytes, pixels, seconds, count and time. */
export interface MediaReader {
  /** Throws what `read` would reject with, as far as the references themselves show it: their number, their schemes and addresses. */
  check(items: readonly MediaItem[]): void
  /**
   * The media of one request, in their order. Rejects with an `AppError` at the first that cannot be had, and with the signal's reason;
   * then nothing is read any more.
   */
  read(items: readonly MediaItem[], caller: MediaCaller): Promise<HeldMedia>
}

/** The media of a request; their memory is counted until `release`. */
export type HeldMedia = { readonly media: readonly MediaBytes[]; release(): void }

export type MediaCaller = { readonly principal: Principal; readonly signal: AbortSignal }

/** The kind of a media type such as `image/png`; what is neither image, audio nor video is a file. */
export function kindOfType(mediaType: string): MediaKind {
  const [kind] = mediaType.split('/', 1)
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file'
}

/** The source of a part that an engine got. */
export function bytesOf({ source }: { readonly source: MediaBytes | MediaReference }): MediaBytes {
  if (source.type === 'bytes') return source
  throw new Error(`media that was not read reached an engine: ${source.type}`)
}

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
