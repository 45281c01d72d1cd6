import { hasMedia } from '../../canonical/parts.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { GenerationRequest, Prompt } from '../../contract/request.ts'
import { adaptMedia } from '../shared/adapt-media.ts'
import { refuseMedia } from '../shared/refuse-media.ts'

/** The media that a model's projector reads; undefined: it has none. */
export type Reads = { readonly image: boolean; readonly audio: boolean } | undefined

type Reader = { readonly id: string; readonly reads: Reads; readonly converter: MediaConverter | undefined }

/** `mtmd_helper_bitmap_init_from_buf` */
const decodes = {
  image: ['image/png', 'image/jpeg', 'image/gif', 'image/bmp'],
  audio: ['audio/wav', 'audio/mpeg', 'audio/flac'],
}

/** Throws `unsupported-field` for media that the model does not read. Videos become pictures, documents text. */
export function refuseUnreadMedia({ prompt }: { readonly prompt: Prompt }, id: string, reads: Reads): void {
  const readable = { image: reads?.image === true, audio: reads?.audio === true, video: reads?.image === true, file: true }
  const why =
    reads === undefined
      ? 'it has no multimodal projector: set `mmproj` in its configuration'
      : 'its multimodal projector has no part for them'
  refuseMedia(
    { prompt },
    (kind) => readable[kind],
    (kind) => `model '${id}' cannot read parts of type '${kind}'; ${why}`,
  )
}

/** The request with media that the worker decodes; a promise only with media. Fails as `refuseUnreadMedia` and `adaptMedia`. */
export function readableMedia<R extends { readonly prompt: Prompt }>(
  request: R,
  { id, reads, converter }: Reader,
  signal: AbortSignal,
): R | Promise<R> {
  if (!hasMedia(request.prompt)) return request
  refuseUnreadMedia(request, id, reads)
  if (converter === undefined) return request
  const reading = { image: false, audio: false, ...reads, video: false, file: false }
  const reader = { reads: reading, decodes, decodesSimply: true, ignoresDetail: true } as const
  return adaptMedia(request, { readers: [reader], converter, separatesMedia: false }, signal)
}

/** Throws `unsupported-field` for a prompt with media whose tokens shall be reported: vectors have neither ids nor texts. */
export function refuseReportOfMedia({ prompt, promptTokens }: Pick<GenerationRequest, 'prompt' | 'promptTokens'>): void {
  if (promptTokens === undefined || !hasMedia(prompt)) return
  const message = `${field('promptTokens')} is not supported for a prompt with media, which have no tokens with texts: leave it out`
  throw new AppError('unsupported-field', message, { at: ['promptTokens'] })
}
