import type { CanonicalPath } from '../../contract/field.ts'
import type { MediaKind } from '../../contract/media.ts'
import type { MediaPart } from '../../contract/request.ts'
import { formatRest } from './field-names.ts'

/** Media by URL, of any scheme: it is judged, and read, where all media are. */
export function mediaByUrl(kind: MediaKind, url: string): MediaPart {
  return { type: 'media', kind, source: { type: 'url', url } }
}

export function mediaInBase64(kind: MediaKind, base64: string, mediaType?: string): MediaPart {
  return { type: 'media', kind, source: { type: 'base64', base64, ...(mediaType !== undefined && { mediaType }) } }
}

/** A file that was uploaded before. */
export function mediaInFile(kind: MediaKind, id: string): MediaPart {
  return { type: 'media', kind, source: { type: 'file', id } }
}

/** The fields of the protocols' parts that contain a reference; the first one present was read. */
const sources: readonly (readonly string[])[] = [
  ['image_url', 'url'],
  ['image_url'],
  ['audio_url', 'url'],
  ['audio_url'],
  ['video_url', 'url'],
  ['video_url'],
  ['input_audio', 'data'],
  ['input_audio'],
  ['document_url'],
  ['file', 'file_id'],
  ['file', 'file_data'],
  ['file_id'],
  ['file_url'],
  ['file_data'],
  ['image', 'data'],
  ['image', 'url', 'uri'],
  ['source', 'data'],
  ['source', 'url'],
  ['source', 'file_id'],
]

/**
 * The rest of a place's name after that of its part: `.image_url.url` for the source of an image. `at`: the part's name, such as
 * `messages[0].content[1]`.
 */
export function nameInPart(wire: object, at: string, rest: CanonicalPath): string {
  const [member] = rest
  if (member !== 'source' && member !== 'detail') return formatRest(rest)
  const part = valueAt(wire, at)
  const source = sources.find((path) => typeof memberOf(part, path.join('.')) === 'string') ?? []
  if (member === 'source') return source.map((name) => `.${name}`).join('')
  return source[0] === 'image_url' && source.length === 2 ? '.image_url.detail' : '.detail'
}

/** The value at a path such as `input[0].content[1]`. */
function valueAt(wire: unknown, path: string): unknown {
  return memberOf(wire, path.replaceAll(/\[(\d+)\]/g, '.$1'))
}

function memberOf(value: unknown, path: string): unknown {
  let found = value
  for (const name of path.split('.').filter((step) => step !== '')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = Reflect.get(found, name)
  }
  return found
}
