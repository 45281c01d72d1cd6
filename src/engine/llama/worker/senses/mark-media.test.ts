import { expect, test } from 'vitest'
import { bytes, image, text } from '../../../../../test/support/parts.ts'
import { type ContentPart, plainChat } from '../../../../contract/request.ts'
import { markMedia } from './mark-media.ts'

const secret = 'abc123'
const [first, second] = ['abc123m0m', 'abc123m1m']
const picture = image('AAAA')

function mark(...content: ContentPart[]) {
  return markMedia({ type: 'chat', ...plainChat, messages: [{ role: 'user', content }] }, secret)
}

test.each<[string, ContentPart[], string[]]>([
  ['a text and a picture', [text('a'), picture], [`a${first}`]],
  ['a picture and a text', [picture, text('a')], [`${first}a`]],
  ['two pictures', [picture, picture], [`${first}${second}`]],
  // The template's text joins them with a line break.
  ['two texts', [text('a'), text('b'), picture], ['a', `b${first}`]],
  ['a picture among texts', [text('a'), picture, text('b'), text('c')], [`a${first}b`, 'c']],
])('%s become texts as llama-server joins them', (_, content, texts) => {
  const [message] = mark(...content).prompt.messages
  expect(message).toEqual({ role: 'user', content: texts.map(text) })
})

test('pictures in the results of tools have their turn in the order of the conversation', () => {
  const result = { type: 'tool-result', toolCallId: 'c', content: [picture] } as const
  const { prompt, media } = markMedia(
    {
      type: 'chat',
      ...plainChat,
      messages: [
        { role: 'assistant', parts: [result] },
        { role: 'user', content: [image('BBBB')] },
      ],
    },
    secret,
  )
  expect(media.map((each) => each.bytes.base64)).toEqual(['AAAA', 'BBBB'])
  expect(JSON.stringify(prompt.messages)).toMatch(/abc123m0m.*abc123m1m/)
})

test('a rendered prompt is split where the pictures were', () => {
  const { marks, media } = mark(picture, text('a'), image('BBBB'))
  const segments = [
    { text: `<user>${first}a`, literal: false },
    { text: `${second}</user>`, literal: true },
  ]
  expect(marks.split(segments, media)).toEqual([
    { text: '<user>', literal: false },
    { medium: 0 },
    { text: 'a', literal: false },
    { medium: 1 },
    { text: '</user>', literal: true },
  ])
})

test('a picture that the template leaves out is an error at its place', () => {
  const { marks, media } = mark(picture, text('a'), image('BBBB'))
  const split = () => marks.split([{ text: `<user>${first}a`, literal: false }], media)
  expect(split).toThrow(expect.objectContaining({ code: 'template-failed', at: ['prompt', 'messages', 0, 'content', 2] }))
})

test('the bytes of media are those of the request', () => {
  expect(mark(picture).media).toMatchObject([{ kind: 'image', bytes: bytes('AAAA', 'image/png') }])
})
