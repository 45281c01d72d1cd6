import { AppError } from '../../contract/errors.ts'
import type { Annotation, ContentPart, MediaPart, TextPart } from '../../contract/request.ts'
import { mediaByUrl, mediaInBase64, mediaInFile } from '../wire/media-part.ts'
import { preview } from '../wire/preview.ts'
import type { WireAnnotation, WirePart } from './item-schema.ts'

/** Decodes the content of a message or of a tool's result. Throws for media without a source. */
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
    case 'input_audio':
      return decodeAudio(part)
    case 'input_file':
      return decodeFile(part, path)
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
  const media =
    typeof image_url === 'string'
      ? mediaByUrl('image', image_url)
      : typeof file_id === 'string'
        ? mediaInFile('image', file_id)
        : undefined
  if (media === undefined) {
    const param = `${path}.image_url`
    throw new AppError('invalid-request', `${param} is missing: send the image as a data: URL, or its file_id`, { param })
  }
  switch (detail) {
    case undefined:
    case null:
      return media
    case 'auto':
    case 'low':
    case 'high':
      return { ...media, detail }
    case 'original':
      return { ...media, detail: 'high' }
    default:
      throw unknownDetail(detail, `${path}.detail`)
  }
}

function unknownDetail(detail: string, param: string): AppError {
  const message = `${param}: expected "auto", "low", "high" or "original", got ${preview(detail)}`
  return new AppError('invalid-request', message, { param })
}

function decodeAudio({ input_audio: { data, format } }: Extract<WirePart, { type: 'input_audio' }>): MediaPart {
  return mediaInBase64(
    'audio',
    data,
    format === 'mp3' ? 'audio/mpeg' : typeof format === 'string' ? `audio/${format}` : undefined,
  )
}

function decodeFile(file: Extract<WirePart, { type: 'input_file' }>, path: string): MediaPart {
  const { file_data: data, file_id: id, file_url: url, filename } = file
  const named = typeof filename === 'string' ? { filename } : {}
  if (typeof id === 'string') return { ...mediaInFile('file', id), ...named }
  if (typeof url === 'string') return { ...mediaByUrl('file', url), ...named }
  if (typeof data === 'string') {
    return { ...(/^data:/i.test(data) ? mediaByUrl('file', data) : mediaInBase64('file', data)), ...named }
  }
  const param = `${path}.file_data`
  throw new AppError('invalid-request', `${param} is missing: send the file as a data: URL, or its file_id or file_url`, {
    param,
  })
}
