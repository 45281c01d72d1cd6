import { expect, test } from 'vitest'
import { bytes, text } from '../../../test/support/parts.ts'
import { mediaIn } from '../../canonical/parts.ts'
import type { MediaItem, MediaReader, MediaReference } from '../../contract/media.ts'
import { allScopes } from '../../contract/principal.ts'
import { type ContentPart, type Message, type Prompt, plainChat } from '../../contract/request.ts'
import { withMedia } from './with-media.ts'

const caller = { principal: { id: 'one', scopes: allScopes }, signal: new AbortController().signal }

class Reader implements MediaReader {
  readonly read: MediaReader['read']
  readonly check = () => undefined
  readonly asked: MediaItem[] = []
  released = 0

  constructor() {
    this.read = async (items) => {
      this.asked.push(...items)
      const media = items.map(({ source }) => bytes('AA==', source.type === 'url' ? source.url : source.type))
      return {
        media,
        release: () => {
          this.released += 1
        },
      }
    }
  }
}

function media(source: MediaReference): ContentPart {
  return { type: 'media', kind: 'image', source }
}

const one = media({ type: 'url', url: 'one' })
const two = media({ type: 'file', id: 'two' })
const three = media({ type: 'base64', base64: 'AA==' })
const messages: readonly Message[] = [
  { role: 'user', content: [text('a'), one, text('b'), two] },
  { role: 'assistant', parts: [{ type: 'tool-result', toolCallId: 'c', content: [three] }] },
  { role: 'tool', toolCallId: 'd', content: [one] },
]

test('every part that refers to media gets its bytes, in its place, and is named by it', async () => {
  const reader = new Reader()
  const request = { prompt: { type: 'chat', ...plainChat, messages } as Prompt }
  const got = await withMedia({ media: reader }, { request, caller }, async ({ prompt }) => {
    expect(reader.released).toBe(0)
    return prompt.type === 'chat' ? prompt.messages : []
  })
  const found = (name: string) => ({ type: 'media', kind: 'image', source: bytes('AA==', name) })
  expect(got).toEqual([
    { role: 'user', content: [text('a'), found('one'), text('b'), found('file')] },
    { role: 'assistant', parts: [{ type: 'tool-result', toolCallId: 'c', content: [found('base64')] }] },
    { role: 'tool', toolCallId: 'd', content: [found('one')] },
  ])
  expect(reader.asked.map(({ at }) => at)).toEqual([
    ['prompt', 'messages', 0, 'content', 1, 'source'],
    ['prompt', 'messages', 0, 'content', 3, 'source'],
    ['prompt', 'messages', 1, 'parts', 0, 'content', 0, 'source'],
    ['prompt', 'messages', 2, 'content', 0, 'source'],
  ])
  expect(reader.released).toBe(1)
})

test('a file that holds an image becomes one', async () => {
  const file = { type: 'media', kind: 'file', source: { type: 'url', url: 'image/png' } } as const
  const document = { ...file, source: { type: 'url', url: 'application/pdf' } } as const
  const prompt: Prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [file, document] }] }
  const kinds = await withMedia({ media: new Reader() }, { request: { prompt }, caller }, async (complete) =>
    mediaIn(complete.prompt).map(({ kind }) => kind),
  )
  expect(kinds).toEqual(['image', 'file'])
})

test('the memory is free again when the work has failed', async () => {
  const reader = new Reader()
  const request = { prompt: { type: 'chat', ...plainChat, messages } as Prompt }
  const failing = withMedia({ media: reader }, { request, caller }, () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  expect(reader.released).toBe(1)
})

test('a request without media is returned as it is, and reads nothing', async () => {
  const request = { prompt: { type: 'text', text: 'x' } as Prompt }
  expect(await withMedia({}, { request, caller }, async (complete) => complete)).toBe(request)
})

test('without a reader, media are refused by their place', async () => {
  const request = { prompt: { type: 'chat', ...plainChat, messages } as Prompt }
  await expect(withMedia({}, { request, caller }, async () => 1)).rejects.toMatchObject({
    code: 'unsupported-field',
    at: ['prompt', 'messages', 0, 'content', 1, 'source'],
  })
})
