import { AppError } from '../../contract/errors.ts'
import type { MediaKind } from '../../contract/media.ts'
import type { MediaPart } from '../../contract/request.ts'
import { mediaByUrl, mediaInBase64, mediaInFile } from '../wire/media-part.ts'
import type { WirePart } from './message-schema.ts'

type WireMedia = Exclude<WirePart, { type: 'text' | 'refusal' | 'thinking' }>

/** Media types of formats whose name differs. */
const audioTypes: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', m4a: 'audio/mp4' }

/** The medium that a part refers to. It is read, and refused, elsewhere. */
export function decodeMedia(part: WireMedia, path: string): MediaPart {
  switch (part.type) {
    case 'image_url': {
      const { image_url: image } = part
      if (typeof image === 'string') return mediaByUrl('image', image)
      const { url, detail } = image
      return { ...mediaByUrl('image', url), ...(typeof detail === 'string' && { detail }) }
    }
    case 'audio_url':
      return byUrl('audio', part.audio_url)
    case 'video_url':
      return byUrl('video', part.video_url)
    case 'input_audio': {
      const { data, format } = typeof part.input_audio === 'string' ? { data: part.input_audio } : part.input_audio
      // Some clients send a data: URL, as llama-server accepts it.
      if (/^data:/i.test(data)) return mediaByUrl('audio', data)
      return mediaInBase64('audio', data, typeof format === 'string' ? (audioTypes[format] ?? `audio/${format}`) : undefined)
    }
    case 'document_url': {
      const { document_url: url, document_name: filename } = part
      return { ...mediaByUrl('file', url), ...(typeof filename === 'string' && { filename }) }
    }
    case 'file':
      return decodeFile(part.file, `${path}.file`)
  }
}

function byUrl(kind: MediaKind, given: string | { readonly url: string }): MediaPart {
  return mediaByUrl(kind, typeof given === 'string' ? given : given.url)
}

/** The kind of a file is the type of its data: URL; others are documents. */
function decodeFile({ file_id, file_data, filename }: Extract<WireMedia, { type: 'file' }>['file'], path: string): MediaPart {
  const named = typeof filename === 'string' ? { filename } : {}
  if (typeof file_id === 'string') return { ...mediaInFile('file', file_id), ...named }
  if (typeof file_data === 'string') return { ...mediaOfFile(file_data), ...named }
  const message = `${path} has neither file_id nor file_data: send the bytes as a data: URL in file_data`
  throw new AppError('invalid-request', message, { param: path })
}

function mediaOfFile(data: string): MediaPart {
  if (!/^data:/i.test(data)) return mediaInBase64('file', data)
  const kind = /^data:(image|audio|video)\//i.exec(data)?.[1]?.toLowerCase()
  return mediaByUrl((kind as MediaKind | undefined) ?? 'file', data)
}
