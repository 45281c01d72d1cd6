import { AppError } from '../../contract/errors.ts'
import type { ContentPart, MediaPart, TextPart } from '../../contract/request.ts'
import { refuseBadBase64 } from '../wire/base64.ts'
import { preview } from '../wire/preview.ts'
import type { ContentBlock } from './schema.ts'

/** A block of a user's turn, of a system message or of a tool's result. Throws for media by URL or file, and for bytes that are not base64. */
export function decodeBlock(block: ContentBlock, path: string): ContentPart {
  switch (block.type) {
    case 'text':
      return text(block.text)
    case 'image': {
      const { source } = block
      if (source.type === 'base64') return media('image', source.media_type, { base64: source.data, path: `${path}.source.data` })
      throw notFetched(path, source.type)
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
          return media('file', source.media_type, { base64: source.data, path: `${path}.source.data` })
        case 'url':
        case 'file':
          throw notFetched(path, source.type)
      }
      break
    }
    case 'search_result': {
      const found = block.content.map((item) => item.text).join('\n')
      return text(`${block.title}\n${block.source}\n\n${found}`)
    }
  }
}

function media(kind: 'image' | 'file', mediaType: string, { base64, path }: { base64: string; path: string }): MediaPart {
  const isKind = kind === 'file' || mediaType.toLowerCase().startsWith('image/')
  if (!isKind) {
    const param = path.replace(/\.data$/, '.media_type')
    throw new AppError('invalid-request', `${param}: expected an image type such as "image/png", got ${preview(mediaType)}`, {
      param,
    })
  }
  refuseBadBase64(base64, path)
  return {
    type: 'media',
    kind,
    mediaType: mediaType.toLowerCase(),
    source: { type: 'bytes', base64 },
  }
}

function notFetched(path: string, type: 'url' | 'file'): AppError {
  const param = `${path}.source`
  const what = type === 'url' ? 'is not fetched' : 'is not stored here'
  return new AppError('unsupported-field', `${param} of type "${type}" ${what}: send the bytes, with type "base64"`, { param })
}

/** A text as a part. */
export function text(value: string): TextPart {
  return { type: 'text', text: value }
}
