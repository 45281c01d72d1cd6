import { expect, test } from 'vitest'
import { audio, bytes, image, text } from '../../../test/support/parts.ts'
import { never } from '../../../test/support/upstream/remote-engine.ts'
import type { MediaConverter } from '../../contract/media.ts'
import { type ContentPart, type MediaPart, plainChat } from '../../contract/request.ts'
import { type Reads, readableMedia } from './media.ts'

const converter: MediaConverter = {
  hasImages: true,
  isMisdrawn: () => false,
  image: async () => bytes('AAAA', 'image/png'),
  audio: async () => bytes('CCCC', 'audio/wav'),
  recording: async () => new Uint8Array(),
  document: async (_, { filename }) => [`text of ${filename}`],
  frames: async () => [bytes('AAAA', 'image/png'), bytes('BBBB', 'image/png')],
}
const both = { image: true, audio: true }
const video: MediaPart = { type: 'media', kind: 'video', source: bytes('AAEC', 'video/mp4') }
const file: MediaPart = { type: 'media', kind: 'file', filename: 'a.pdf', source: bytes('AAEC', 'application/pdf') }

async function read(part: ContentPart, reads: Reads) {
  const request = { prompt: { type: 'chat', ...plainChat, messages: [{ role: 'user' as const, content: [part] }] } as const }
  const { prompt } = await readableMedia(request, { id: 'm', reads, converter }, never)
  return prompt.messages[0]?.role === 'user' ? prompt.messages[0].content : []
}

test.each<[string, ContentPart, readonly ContentPart[]]>([
  ['a text', text('a'), [text('a')]],
  ['a PNG', image('AAEC'), [image('AAEC')]],
  ['a WebP, which llama.cpp does not decode', image('AAEC', 'image/webp'), [image('AAAA')]],
  ['an MP3', audio('AAEC', 'audio/mpeg'), [audio('AAEC', 'audio/mpeg')]],
  ['Ogg, which llama.cpp does not decode', audio('AAEC', 'audio/ogg'), [audio('CCCC')]],
  ['a video, as pictures', video, [image('AAAA'), image('BBBB')]],
  ['a document, as its text', file, [text('text of a.pdf')]],
])('the worker gets %s', async (_, part, given) => {
  expect(await read(part, both)).toEqual(given)
})

test('a model without a projector gets the text of a document', async () => {
  expect(await read(file, undefined)).toEqual([text('text of a.pdf')])
})

test.each<[string, ContentPart, Reads, RegExp]>([
  ['no projector', image('AAEC'), undefined, /has no multimodal projector: set `mmproj`/],
  ['one that only hears', image('AAEC'), { image: false, audio: true }, /projector has no part for them/],
  ['one that only sees', audio('AAEC'), { image: true, audio: false }, /projector has no part for them/],
  ['one that only hears, for a video', video, { image: false, audio: true }, /type 'video'/],
])('a model with %s refuses it by name', async (_, part, reads, message) => {
  await expect(read(part, reads)).rejects.toThrow(message)
})
