import { isUtf8 } from 'node:buffer'
import { fileTypeFromBuffer } from 'file-type'
import { kindOfType, type MediaKind } from '../contract/media.ts'

/** Images whose size is known without a decoder. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/bmp', 'image/avif', 'image/heic'])

/** Other names of a type, and the audio types of containers. */
const sameTypes: Readonly<Record<string, string>> = {
  'image/apng': 'image/png',
  'image/heif': 'image/heic',
  'image/heic-sequence': 'image/heic',
  'image/heif-sequence': 'image/heic',
  'audio/ogg; codecs=opus': 'audio/ogg',
  'audio/x-m4a': 'audio/mp4',
  'application/ogg': 'audio/ogg',
}
const audioInContainers: Readonly<Record<string, string>> = {
  'video/mp4': 'audio/mp4',
  'video/webm': 'audio/webm',
  'video/ogg': 'audio/ogg',
}

/** ZIP, gzip and others are not media, and detecting their contents means inflating them. */
const archives = ['504b', '1f8b', '425a68', 'fd377a585a', '28b52ffd', '377abcaf']

/** The type of bytes, if it is of that kind; otherwise undefined. */
export async function detectType(bytes: Buffer, kind: Exclude<MediaKind, 'file'>): Promise<string | undefined> {
  const found = await sniff(bytes)
  if (found === undefined) return undefined
  if (kind === 'image') return imageTypes.has(found) ? found : undefined
  const type = kind === 'audio' ? (audioInContainers[found] ?? found) : found
  return type.startsWith(`${kind}/`) ? type : undefined
}

/** The type of a document: as declared, except for PDFs. Who reads it as text finds out what it is. */
export function documentType(bytes: Buffer, declared: string | undefined): string {
  if (isPdf(bytes)) return 'application/pdf'
  if (declared !== undefined && kindOfType(declared) === 'file') return declared
  return isText(bytes) ? 'text/plain' : 'application/octet-stream'
}

/** The kind of a file: that of the media it holds, otherwise a document. */
export async function kindOfBytes(bytes: Buffer): Promise<MediaKind> {
  const found = isPdf(bytes) || isText(bytes) ? undefined : await sniff(bytes)
  if (found === undefined) return 'file'
  const kind = kindOfType(found)
  return kind === 'image' && !imageTypes.has(found) ? 'file' : kind
}

/** Text that begins like a film is text. */
function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

function isPdf(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 5) === '%PDF-'
}

/** The type of bytes of any kind, for messages. */
export async function sniff(bytes: Buffer): Promise<string | undefined> {
  const head = bytes.toString('hex', 0, 8)
  if (archives.some((start) => head.startsWith(start))) return 'an archive'
  const found = (await fileTypeFromBuffer(bytes))?.mime
  return found === undefined ? undefined : (sameTypes[found] ?? found)
}

/** What to send instead. */
export const acceptedTypes: Readonly<Record<Exclude<MediaKind, 'file'>, string>> = {
  image: 'a PNG, JPEG, GIF, WebP, BMP, AVIF or HEIC image',
  audio: 'audio such as WAV, MP3, FLAC, Ogg or MP4',
  video: 'a video such as MP4, WebM, Matroska or QuickTime',
}
