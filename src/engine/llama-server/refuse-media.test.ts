import { expect, test } from 'vitest'
import { audio, image, text } from '../../../test/support/parts.ts'
import { type ContentPart, plainChat } from '../../contract/request.ts'
import { refuseUnreadable, type Senses } from './refuse-media.ts'

const [picture, sound, words] = [image('AAAA'), audio('AAAA'), text('hi')]

function read(content: readonly ContentPart[], senses: Partial<Senses>): void {
  const messages = [
    { role: 'system' as const, content: [words] },
    { role: 'user' as const, content },
  ]
  const all = { readsImages: false, readsAudio: false, readsVideo: false, hasMmproj: false, ...senses }
  refuseUnreadable({ prompt: { type: 'chat', messages, ...plainChat } }, 'm', all)
}

test('text is read by every model', () => {
  expect(() => read([words], {})).not.toThrow()
})

test.each([
  ['image', picture, { readsImages: true, hasMmproj: true }],
  ['audio', sound, { readsAudio: true, hasMmproj: true }],
] as const)('%s is accepted where the projector reads it', (_type, part, senses) => {
  expect(() => read([words, part], senses)).not.toThrow()
})

test.each([
  ['image', picture, { readsAudio: true, hasMmproj: true }],
  ['audio', sound, { readsImages: true, hasMmproj: true }],
] as const)('%s is refused with its path where the projector does not read it', (type, part, senses) => {
  const refused = { code: 'unsupported-field', at: ['prompt', 'messages', 1, 'content', 1] }
  expect(() => read([words, part], senses)).toThrow(expect.objectContaining(refused))
  expect(() => read([words, part], senses)).toThrow(`'m' cannot read parts of type '${type}'; its multimodal projector`)
})

test('without a projector, the setting is named', () => {
  expect(() => read([picture], {})).toThrow('set `mmproj` in its configuration')
})
