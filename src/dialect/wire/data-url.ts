import { AppError } from '../../contract/errors.ts'
import type { MediaKind, MediaPart } from '../../contract/request.ts'
import { refuseBadBase64 } from './base64.ts'

/**
 * The bytes of a `data:` URL (RFC 2397, base64 only). Throws `unsupported-field` for any other URL, which is never fetched, and
 * `invalid-request` for a data URL of another kind or form.
 */
export function decodeDataUrl(url: string, kind: Exclude<MediaKind, 'file'>, param: string): MediaPart {
  if (!/^data:/i.test(url)) {
    const shown = url.length > 80 ? `${url.slice(0, 79)}…` : url
    const message = `${param} '${shown}' is not fetched: send the ${kind} itself, as a data: URL (data:${kind}/...;base64,...)`
    throw new AppError('unsupported-field', message, { param })
  }
  const comma = url.indexOf(',')
  const head = url.slice('data:'.length, comma === -1 ? 0 : comma)
  const [mediaType = '', ...parameters] = head.split(';')
  const isBase64 = parameters.at(-1)?.trim().toLowerCase() === 'base64'
  if (comma === -1 || !isBase64 || !mediaType.toLowerCase().startsWith(`${kind}/`)) {
    const message = `${param} is not a data: URL of ${kind === 'image' ? 'an' : 'a'} ${kind}: expected data:${kind}/...;base64,...`
    throw new AppError('invalid-request', message, { param })
  }
  const base64 = url.slice(comma + 1)
  refuseBadBase64(base64, param)
  return { type: 'media', kind, mediaType: mediaType.toLowerCase(), source: { type: 'bytes', base64 } }
}
