import { expect, test } from 'vitest'
import { audio, bytes, image, text } from '../../../test/support/parts.ts'
import { never } from '../../../test/support/upstream/remote-engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { MediaConverter } from '../../contract/media.ts'
import { type ContentPart, type MediaPart, plainChat } from '../../contract/request.ts'
import { adaptMedia } from '../shared/adapt-media.ts'
import { ignoredDetails } from './ignored-fields.ts'
import { skillsOf } from './servers/check-upstream.ts'
import type { ProfileName, Protocol } from './servers/profile.ts'
import { profileIn } from './servers/protocols.ts'
import type { Upstream } from './servers/upstream.ts'

const png = bytes('AAAA', 'image/png')
const converter: MediaConverter = {
  document: async ({ mediaType }, { filename }) => [`text of ${filename}, ${mediaType}`],
  hasImages: true,
  isMisdrawn: ({ base64 }) => base64 === 'VFVSTg==',
  image: async (_, { maxEdge }) => ({ ...png, ...(maxEdge !== undefined && { width: maxEdge }) }),
  audio: async () => bytes('CCCC', 'audio/wav'),
  recording: async () => new Uint8Array(),
  frames: async () => [png, bytes('BBBB', 'image/png')],
}

const server = (kind: ProfileName, more: Partial<Upstream> = {}, protocol: Protocol = 'chat'): Upstream => ({
  profile: profileIn(kind, protocol),
  model: 'm',
  ...more,
})
const llamaServer = server('llama-server', { modalities: { image: true, audio: true, video: false } })

async function adapt(
  content: readonly ContentPart[],
  upstreams: readonly Upstream[],
  { by = converter, separatesMedia = false } = {},
) {
  const request = { prompt: { type: 'chat', ...plainChat, messages: [{ role: 'user' as const, content }] } as const }
  const { prompt } = await adaptMedia(request, { readers: upstreams.map(skillsOf), converter: by, separatesMedia }, never)
  return prompt.messages[0]?.role === 'user' ? prompt.messages[0].content : []
}

const webp = image('AAEC', 'image/webp')
const turned = image('VFVSTg==', 'image/jpeg')
const video: MediaPart = { type: 'media', kind: 'video', source: bytes('AAEC', 'video/mp4') }
const large: MediaPart = { type: 'media', kind: 'image', detail: 'low', source: { ...png, width: 4000, height: 10 } }
const file = (mediaType: string): MediaPart => ({
  type: 'media',
  kind: 'file',
  filename: 'a.doc',
  source: bytes('AAEC', mediaType),
})
const asPng: MediaPart = { type: 'media', kind: 'image', source: png }

test.each<[string, ContentPart, Upstream]>([
  ['a PNG', image('AAAA'), llamaServer],
  ['a WebP where it is decoded', webp, server('vllm')],
  ['anything, for another Dragoman', webp, server('dragoman')],
  ['a turned photograph where it is turned', turned, server('vllm')],
  ['a wish for little detail where it is known', large, server('openai')],
  ['a video where videos are read', video, server('vllm')],
  ['FLAC where it is decoded', audio('AAEC', 'audio/flac'), llamaServer],
  ['a PDF where it is read', file('application/pdf'), server('anthropic', {}, 'messages')],
  ['any document over Responses', file('application/zip'), server('openai', {}, 'responses')],
  // It is refused by name later.
  ['audio where none is read', audio('AAEC', 'audio/ogg'), server('anthropic', {}, 'messages')],
])('%s goes along as it is', async (_, part, upstream) => {
  expect(await adapt([text('a'), part], [upstream])).toEqual([text('a'), part])
})

test.each<[string, ContentPart, Upstream, readonly ContentPart[]]>([
  ['WebP becomes PNG for a llama-server', webp, llamaServer, [asPng]],
  ['AVIF becomes PNG for Messages', image('AAEC', 'image/avif'), server('anthropic', {}, 'messages'), [asPng]],
  ['a turned photograph is turned for a llama-server', turned, llamaServer, [asPng]],
  ['a large picture of little detail is made small', large, llamaServer, [{ ...asPng, source: { ...png, width: 512 } }]],
  ['Ogg becomes WAV', audio('AAEC', 'audio/ogg'), llamaServer, [audio('CCCC')]],
  ['a PDF becomes text for a llama-server', file('application/pdf'), llamaServer, [text('text of a.doc, application/pdf')]],
  ['another document becomes text for Messages', file('x/y'), server('anthropic', {}, 'messages'), [text('text of a.doc, x/y')]],
  [
    'a document becomes text for another Dragoman',
    file('x/y'),
    server('dragoman', {}, 'responses'),
    [text('text of a.doc, x/y')],
  ],
  ['a video becomes pictures where only pictures are read', video, llamaServer, [asPng, image('BBBB')]],
])('%s', async (_, part, upstream, adapted) => {
  expect(await adapt([text('a'), part, text('b')], [upstream])).toEqual([text('a'), ...adapted, text('b')])
})

test('what all servers of a model read counts: any of them may get it', async () => {
  expect(await adapt([webp], [server('vllm'), llamaServer])).toEqual([asPng])
})

test('a document becomes text if one of the servers does not read it', async () => {
  const servers = [server('anthropic', {}, 'messages'), llamaServer]
  expect(await adapt([file('application/pdf')], servers)).toEqual([text('text of a.doc, application/pdf')])
  expect(await adapt([file('application/pdf')], [])).toEqual([text('text of a.doc, application/pdf')])
})

test('media that follow each other are separated where that is wanted, also those that a video became', async () => {
  const content = [text('a'), webp, webp, text('b'), video, webp]
  expect(await adapt(content, [llamaServer])).toEqual([text('a'), asPng, asPng, text('b'), asPng, image('BBBB'), asPng])
  const apart = [text('a'), asPng, text('\n'), asPng, text('b'), asPng, text('\n'), image('BBBB'), text('\n'), asPng]
  expect(await adapt(content, [llamaServer], { separatesMedia: true })).toEqual(apart)
})

test('results of tools in an assistant’s turn are looked into', async () => {
  const parts = [{ type: 'tool-result', toolCallId: 'c', content: [webp] }] as const
  const request = { prompt: { type: 'chat', ...plainChat, messages: [{ role: 'assistant', parts }] } as const }
  const { prompt } = await adaptMedia(request, { readers: [skillsOf(llamaServer)], converter, separatesMedia: false }, never)
  expect(prompt.messages).toEqual([{ role: 'assistant', parts: [{ ...parts[0], content: [asPng] }] }])
})

test('a conversion that fails names the place', async () => {
  const failing: MediaConverter = { ...converter, image: () => Promise.reject(new AppError('unsupported-field', 'no sharp')) }
  await expect(adapt([text('a'), webp], [llamaServer], { by: failing })).rejects.toMatchObject({
    code: 'unsupported-field',
    message: 'no sharp',
    at: ['prompt', 'messages', 0, 'content', 1, 'source'],
  })
})

test('detail: low that neither the server nor sharp honours is reported', () => {
  const content = [text('a'), large, { ...large, detail: 'high' as const }, { ...asPng, detail: 'low' as const }]
  const request = { prompt: { type: 'chat', ...plainChat, messages: [{ role: 'user' as const, content }] } as const }
  const without: MediaConverter = { ...converter, hasImages: false }
  const path = ['prompt', 'messages', 0, 'content', 1, 'detail']
  expect(ignoredDetails(request, { upstreams: [llamaServer], converter: without })).toEqual([path])
  expect(ignoredDetails(request, { upstreams: [llamaServer], converter: undefined })).toEqual([path])
  expect(ignoredDetails(request, { upstreams: [llamaServer], converter })).toEqual([])
  expect(ignoredDetails(request, { upstreams: [server('openai')], converter: without })).toEqual([])
})

test('without sharp, what can be decoded goes along as it is', async () => {
  const without: MediaConverter = { ...converter, hasImages: false, image: () => Promise.reject(new Error('never asked')) }
  expect(await adapt([turned, large], [llamaServer], { by: without })).toEqual([turned, large])
})
