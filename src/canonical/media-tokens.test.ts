import { expect, test } from 'vitest'
import { bytes } from '../../test/support/parts.ts'
import type { MediaBytes } from '../contract/media.ts'
import type { MediaPart } from '../contract/request.ts'
import { estimateMediaTokens } from './media-tokens.ts'

const partOf = (kind: MediaPart['kind'], facts: Partial<MediaBytes>): MediaPart => {
  return { type: 'media', kind, source: { ...bytes('AA==', `${kind}/any`), ...facts } }
}

test.each<[string, MediaPart, number]>([
  ['a small image', partOf('image', { width: 40, height: 30 }), 64],
  ['an image of usual size', partOf('image', { width: 1024, height: 768 }), 37 * 28],
  ['the largest image', partOf('image', { width: 8000, height: 4000 }), 4096],
  ['an image of unknown size', partOf('image', {}), 1024],
  ['a minute of audio', partOf('audio', { durationMs: 60_000 }), 1500],
  ['audio of unknown length', partOf('audio', {}), 1024],
  ['a document', partOf('file', {}), 1024],
  ['what was not read', { type: 'media', kind: 'image', source: { type: 'url', url: 'https://a' } }, 1024],
])('the estimate of tokens fits %s', (_, part, tokens) => {
  expect(estimateMediaTokens(part)).toBe(tokens)
})
