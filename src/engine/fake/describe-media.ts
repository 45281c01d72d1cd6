import { bytesOf } from '../../contract/media.ts'
import type { ContentPart, MediaPart, OutputPart } from '../../contract/request.ts'

const shownHash = 12

/**
 * How the fake model describes media: `[image image/png 95 bytes 40x30 sha256:0123456789ab]`. Equal bytes have equal descriptions, however
 * they were sent.
 */
export function describeMedia(part: MediaPart): string {
  const { mediaType, sizeBytes, sha256, width, height, durationMs } = bytesOf(part)
  const facts = [
    part.kind,
    mediaType,
    `${sizeBytes} bytes`,
    ...(width !== undefined && height !== undefined ? [`${width}x${height}`] : []),
    ...(durationMs !== undefined ? [`${durationMs} ms`] : []),
    ...(part.detail !== undefined ? [`detail:${part.detail}`] : []),
    `sha256:${sha256.slice(0, shownHash)}`,
  ]
  return `[${facts.join(' ')}]`
}

/** The text of a content, with descriptions in place of its media. */
export function seenText(parts: readonly (ContentPart | OutputPart)[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : part.type === 'media' ? describeMedia(part) : '')).join('')
}
