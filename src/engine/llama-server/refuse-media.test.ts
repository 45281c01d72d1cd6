import { expect, test } from 'vitest'
import { type ContentPart, plainChat } from '../../contract/request.ts'
import { refuseUnreadable, type Senses } from './refuse-media.ts'

const image: ContentPart = { type: 'image', url: 'data:image/png;base64,AAAA' }
const audio: ContentPart = { type: 'audio', data: 'AAAA', format: 'wav' }
const text: ContentPart = { type: 'text', text: 'hi' }

function read(content: readonly ContentPart[], senses: Partial<Senses>): void {
  const messages = [
    { role: 'system' as const, content: [text] },
    { role: 'user' as const, content },
  ]
  const all = { readsImages: false, readsAudio: false, hasMmproj: false, ...senses }
  refuseUnreadable({ prompt: { type: 'chat', messages, ...plainChat } }, 'm', all)
}

test('text is read by every model', () => {
  expect(() => read([text], {})).not.toThrow()
})

test.each([
  ['image', image, { readsImages: true, hasMmproj: true }],
  ['audio', audio, { readsAudio: true, hasMmproj: true }],
] as const)('%s goes through where the projector can', (_type, part, senses) => {
  expect(() => read([text, part], senses)).not.toThrow()
})

test.each([
  ['image', image, { readsAudio: true, hasMmproj: true }],
  ['audio', audio, { readsImages: true, hasMmproj: true }],
] as const)('%s is refused, with its place, where the projector cannot', (type, part, senses) => {
  const refused = { code: 'unsupported-field', status: 400, param: 'messages[1].content[1]' }
  expect(() => read([text, part], senses)).toThrow(expect.objectContaining(refused))
  expect(() => read([text, part], senses)).toThrow(`'m' cannot read parts of type '${type}'; its multimodal projector`)
})

test('without a projector, the setting is named', () => {
  expect(() => read([image], {})).toThrow('set `mmproj` in its configuration')
})
