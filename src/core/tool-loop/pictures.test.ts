import { expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import type { MediaBytes, MediaReader } from '../../contract/media.ts'
import type { ToolOutcome } from '../../contract/server-tool.ts'
import { messagesOf, says, search, start, user } from './__fixtures__/scripted-turns.ts'

/** Reads everything but what is not a picture. */
const media: MediaReader = {
  check: () => undefined,
  read: async (items) => {
    for (const { source } of items) {
      if (source.type === 'base64' && source.base64 === 'bad') throw new AppError('invalid-request', 'not a picture')
    }
    const bytes: MediaBytes = { type: 'bytes', base64: 'aa', sizeBytes: 1, sha256: '0', mediaType: 'image/png' }
    return { media: items.map(() => bytes), release: () => undefined }
  },
}
const png = (base64: string) => ({ base64, mediaType: 'image/png' })
const drawn = (...images: readonly string[]): ToolOutcome => ({ text: '(image)', isError: false, images: images.map(png) })

/** What the model gets after the calls of its first turn: texts of results, and how many pictures a message has. */
async function shown(outcome: ToolOutcome, more: Partial<Parameters<typeof start>[0]> = {}) {
  const tools = { web_search: async () => outcome }
  const { run, requests } = start({
    turns: [search({}), says('.')],
    tools,
    media,
    sees: true,
    messages: [user('Draw.')],
    ...more,
  })
  await run()
  const prompt = requests[1]?.prompt
  const messages = prompt?.type === 'chat' ? prompt.messages : []
  const last = messages.at(-1)
  const pictures = last?.role === 'user' ? last.content.filter(({ type }) => type === 'media').length : 0
  const results = messagesOf(requests[1]).filter((text) => typeof text === 'string' && text.startsWith('tool:'))
  return { pictures, results: results.map((text) => String(text).split('\n').slice(1).join(' ')) }
}

test('pictures of a result are shown to a model that sees, after the results', async () => {
  expect(await shown(drawn('a', 'b'))).toEqual({ pictures: 2, results: ['(image)'] })
})

test.each([
  ['the model does not see', drawn('a'), { sees: false }],
  ['they are no pictures', drawn('bad'), {}],
])('they are only mentioned where %s', async (_, outcome, more) => {
  const left = '(image) (Pictures that you cannot see are left out.)'
  expect(await shown(outcome, more)).toEqual({ pictures: 0, results: [left] })
})

test('they are left out where the context has no room for them', async () => {
  const full = [new AppError('context-length-exceeded', 'too long')]
  const turns = [search({}), full, says('.')]
  const { run, requests } = start({ turns, tools: { web_search: async () => drawn('a') }, media, sees: true })
  await run()
  const roles = requests.map(({ prompt }) => (prompt.type === 'chat' ? prompt.messages.map(({ role }) => role) : []))
  expect(roles.map((all) => all.slice(2))).toEqual([[], ['assistant', 'tool', 'user'], ['assistant', 'tool', 'user']])
  expect(messagesOf(requests[2]).at(-1)).toContain('Answer now')
})

test('a reply has room for eight', async () => {
  const { pictures, results } = await shown(drawn(...'abcdefghij'))
  expect([pictures, results[0]]).toEqual([8, expect.stringContaining('left out')])
})
