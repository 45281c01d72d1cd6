import type { CanonicalPath } from './field.ts'
import type { Principal } from './principal.ts'

export type MediaKind = 'image' | 'audio' | 'video' | 'file'

/** Media as a caller names them. Dialects create these and check nothing; engines never see them. */
export type MediaReference =
  /** `data:`, `http:`, `https:` or `file:`; other schemes are refused. */
  | { readonly type: 'url'; readonly url: string }
  /** `mediaType` as declared, if at all: the bytes decide. */
  | { readonly type: 'base64'; readonly base64: string; readonly mediaType?: string }
  /** A file that was uploaded to this server. */
  | { readonly type: 'file'; readonly id: string }

/** Media that were read and checked. Engines get only these, so that no engine fetches addresses of callers. */
export type MediaBytes = {
  readonly type: 'bytes'
  /** With padding and without white space. */
  readonly base64: string
  readonly sizeBytes: number
  /** The hash of the bytes, in lower-case hexadecimal. */
  readonly sha256: string
  /** The type that the bytes have, such as `image/png`. */
  readonly mediaType: string
  /** The size of an image, in pixels. */
  readonly width?: number
  readonly height?: number
  /** For audio and video whose header states it. */
  readonly durationMs?: number
}

/** A reference, and its place in the canonical request: the part's path and `source`. Errors refer to it. */
export type MediaItem = { readonly kind: MediaKind; readonly source: MediaReference; readonly at: CanonicalPath }

/** Reads media of requests, within limits of bytes, pixels, seconds, count and time. */
export interface MediaReader {
  /** Throws the errors of `read` that the references themselves show: their number, schemes and addresses. */
  check(items: readonly MediaItem[]): void
  /**
   * The media of one request, in order. Rejects with an `AppError` at the first unreadable one, and with the signal's reason; then nothing
   * is read any more.
   */
  read(items: readonly MediaItem[], caller: MediaCaller): Promise<HeldMedia>
}

/** The media of a request; their memory is counted until `release`. */
export type HeldMedia = { readonly media: readonly MediaBytes[]; release(): void }

export type MediaCaller = { readonly principal: Principal; readonly signal: AbortSignal }

/** The kind of a media type such as `image/png`; anything but image, audio and video is a file. */
export function kindOfType(mediaType: string): MediaKind {
  const [kind] = mediaType.split('/', 1)
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file'
}

/** The bytes of a part given to an engine. */
export function bytesOf({ source }: { readonly source: MediaBytes | MediaReference }): MediaBytes {
  if (source.type === 'bytes') return source
  throw new Error(`media that was not read reached an engine: ${source.type}`)
}

/** The form of an image: upright, on white, as PNG or JPEG, and within a square of `maxEdge` pixels if set. */
export type ImageForm = { readonly maxEdge?: number }

/** `sees`: the model reads pictures. */
export type DocumentForm = { readonly filename: string | undefined; readonly sees: boolean }

/** A document as a model gets it, below its name: texts, and pages that are pictures in their places. */
export type ConvertedDocument = readonly (string | MediaBytes)[]

/**
 * Converts media that an engine cannot read, in processes that end with the signal. Rejects with `unsupported-field` without the program
 * for it, and with `invalid-request` for bytes that cannot be decoded and for results that are too large.
 */
export interface MediaConverter {
  /** Whether `image` is supported. */
  readonly hasImages: boolean
  /** Whether simple decoders show an image wrongly: turned, or with what it lets through. */
  isMisdrawn(media: MediaBytes): boolean
  image(media: MediaBytes, form: ImageForm, signal: AbortSignal): Promise<MediaBytes>
  /** As WAV with one channel. */
  audio(media: MediaBytes, signal: AbortSignal): Promise<MediaBytes>
  /** As `audio`, for a long recording, of which no copy is kept. */
  recording(media: MediaBytes, signal: AbortSignal): Promise<Uint8Array>
  document(media: MediaBytes, form: DocumentForm, signal: AbortSignal): Promise<ConvertedDocument>
  /** Pictures of a video, in order: two for each second, or fewer, spread evenly, for a long one. */
  frames(media: MediaBytes, signal: AbortSignal): Promise<readonly MediaBytes[]>
}
