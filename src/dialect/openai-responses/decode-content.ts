import { AppError } from '../../contract/errors.ts'
import type { Annotation, ContentPart, MediaPart, TextPart } from '../../contract/request.ts'
import { decodeDataUrl } from '../wire/data-url.ts'
import type { WireAnnotation, WirePart } from './item-schema.ts'

/** Decodes the content of a message or of a tool's result. Throws for files, and for images by address or file id. */
export function decodeContent(content: string | readonly WirePart[], path: string): readonly ContentPart[] {
  return typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : content.map((part, index) => decodePart(part, `${path}[${index}]`))
}

/** One part of a content; a refusal is a text, except in an assistant's turn. */
export function decodePart(part: WirePart, path: string): ContentPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return decodeText(part)
    case 'refusal':
      return { type: 'text', text: part.refusal }
    case 'input_image':
      return decodeImage(part, path)
    case 'input_file':
      throw new AppError('unsupported-field', `${path} is a file, which is not read here: send its text as input_text`, {
        param: path,
      })
  }
}

function decodeText({ text, annotations }: Extract<WirePart, { text: string }>): TextPart {
  const known = (annotations ?? []).flatMap(decodeAnnotation)
  return { type: 'text', text, ...(known.length > 0 && { annotations: known }) }
}

function decodeAnnotation({ type, ...fields }: WireAnnotation): readonly Annotation[] {
  const { url, title, start_index, end_index, file_id, filename, index } = fields
  if (type === 'url_citation' && typeof url === 'string') {
    const at = {
      ...(typeof start_index === 'number' && { startIndex: start_index }),
      ...(typeof end_index === 'number' && { endIndex: end_index }),
    }
    return [{ type: 'url-citation', url, ...(typeof title === 'string' && { title }), ...at }]
  }
  if (type === 'file_citation' && typeof file_id === 'string') {
    const where = { ...(typeof filename === 'string' && { filename }), ...(typeof index === 'number' && { index }) }
    return [{ type: 'file-citation', fileId: file_id, ...where }]
  }
  return []
}

function decodeImage({ image_url, file_id, detail }: Extract<WirePart, { type: 'input_image' }>, path: string): MediaPart {
  if (typeof image_url !== 'string') {
    const what =
      typeof file_id === 'string' ? `${path}.file_id is not supported: no files are stored here` : `${path}.image_url is missing`
    const param = typeof file_id === 'string' ? `${path}.file_id` : `${path}.image_url`
    const code = typeof file_id === 'string' ? 'unsupported-field' : 'invalid-request'
    throw new AppError(code, `${what}; send the image itself in image_url, as a data: URL`, { param })
  }
  const media = decodeDataUrl(image_url, 'image', `${path}.image_url`)
  const known = detail === 'original' ? 'high' : detail
  return known === 'auto' || known === 'low' || known === 'high' ? { ...media, detail: known } : media
}
