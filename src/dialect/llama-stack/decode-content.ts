import { AppError } from '../../contract/errors.ts'
import type { ContentPart } from '../../contract/request.ts'
import { mediaByUrl, mediaInBase64 } from '../wire/media-part.ts'
import type { WireContent, WireItem } from './schema.ts'

type DecodedContent = { readonly parts: readonly ContentPart[]; readonly paths: readonly string[] }

/** Decodes interleaved content. Throws for an image without a source. */
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
      if (typeof data === 'string') return mediaInBase64('image', data)
      if (url) return mediaByUrl('image', url.uri)
      const param = `${path}.image`
      throw new AppError('invalid-request', `${param} has neither data nor url: send the image as base64 in data`, { param })
    }
  }
}
