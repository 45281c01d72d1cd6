import { AppError } from '../../contract/errors.ts'
import type { ContentPart, MediaPart, TextPart } from '../../contract/request.ts'
import { mediaByUrl, mediaInBase64, mediaInFile } from '../wire/media-part.ts'
import { preview } from '../wire/preview.ts'
import type { ContentBlock } from './schema.ts'

/** Decodes a block of a user's turn, of a system message or of a tool's result. Throws for an image whose declared type is not one. */
export function decodeBlock(block: ContentBlock, path: string): ContentPart {
  switch (block.type) {
    case 'text':
      return text(block.text)
    case 'image': {
      const { source } = block
      if (source.type === 'base64') requireImage(source.media_type ?? undefined, `${path}.source.media_type`)
      return media('image', source)
    }
    case 'document': {
      const { source, title, context } = block
      const head = [title, context].filter((line) => typeof line === 'string' && line !== '').join('\n')
      const about = head === '' ? '' : `${head}\n\n`
      switch (source.type) {
        case 'text':
          return text(about + source.data)
        case 'content':
          return text(
            about + (typeof source.content === 'string' ? source.content : source.content.map((item) => item.text).join('\n')),
          )
        case 'base64':
        case 'url':
        case 'file':
          return { ...media('file', source), ...(typeof title === 'string' && { filename: title }) }
      }
      break
    }
    case 'search_result': {
      const found = block.content.map((item) => item.text).join('\n')
      return text(`${block.title}\n${block.source}\n\n${found}`)
    }
  }
}

type MediaSource = Extract<ContentBlock, { type: 'image' }>['source']

function media(kind: 'image' | 'file', source: MediaSource): MediaPart {
  switch (source.type) {
    case 'base64':
      return mediaInBase64(kind, source.data, source.media_type?.toLowerCase())
    case 'url':
      return mediaByUrl(kind, source.url)
    case 'file':
      return mediaInFile(kind, source.file_id)
  }
}

function requireImage(mediaType: string | undefined, param: string): void {
  if (mediaType === undefined || mediaType.toLowerCase().startsWith('image/')) return
  const message = `${param}: expected an image type such as "image/png", got ${preview(mediaType)}`
  throw new AppError('invalid-request', message, { param })
}

export function text(value: string): TextPart {
  return { type: 'text', text: value }
}
