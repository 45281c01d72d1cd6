import { AppError } from '../../contract/errors.ts'
import type { ContentPart, MediaPart } from '../../contract/request.ts'
import { refuseBadBase64 } from '../wire/base64.ts'
import { decodeDataUrl } from '../wire/data-url.ts'
import type { WireContent, WireItem } from './schema.ts'

/** The parts of a content, and where each stood in the request. */
export type DecodedContent = { readonly parts: readonly ContentPart[]; readonly paths: readonly string[] }

/** How the base64 of each kind of image begins; the protocol does not say which it is. */
const imageStarts: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

/** Decodes interleaved content. Throws for an image that is not sent itself, and for one of an unknown kind. */
export function decodeContent(content: WireContent, path: string): DecodedContent {
  if (typeof content === 'string') return { parts: [{ type: 'text', text: content }], paths: [path] }
  if (!Array.isArray(content)) return { parts: [decodeItem(content, path)], paths: [path] }
  const paths = content.map((_, index) => `${path}[${index}]`)
  return { parts: content.map((item, index) => decodeItem(item, `${path}[${index}]`)), paths }
}

/** The text of a content. Throws `unsupported-field` for an image. */
export function decodeText(content: WireContent, path: string): string {
  const items = typeof content === 'string' ? [content] : Array.isArray(content) ? content : [content]
  return items
    .map((item, index) => {
      if (typeof item === 'string') return item
      if (item.type === 'text') return item.text
      const param = Array.isArray(content) ? `${path}[${index}]` : path
      throw new AppError('unsupported-field', `${param} is an image, which this route cannot show to a model: send text`, {
        param,
      })
    })
    .join('')
}

function decodeItem(item: WireItem, path: string): ContentPart {
  switch (item.type) {
    case 'text':
      return { type: 'text', text: item.text }
    case 'image': {
      const { url, data } = item.image
      if (typeof data === 'string') return decodeImage(data, `${path}.image.data`)
      if (url) return decodeDataUrl(url.uri, 'image', `${path}.image.url.uri`)
      const param = `${path}.image`
      throw new AppError('invalid-request', `${param} has neither data nor url: send the image as base64 in data`, { param })
    }
  }
}

function decodeImage(base64: string, param: string): MediaPart {
  const known = imageStarts.find(([start]) => base64.startsWith(start))
  if (known === undefined) {
    const message = `${param} is not a PNG, JPEG, GIF or WebP image in base64: send one of these`
    throw new AppError('invalid-request', message, { param })
  }
  refuseBadBase64(base64, param)
  return { type: 'media', kind: 'image', mediaType: known[1], source: { type: 'bytes', base64 } }
}
