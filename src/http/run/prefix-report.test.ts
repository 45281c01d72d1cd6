import { expect, test } from 'vitest'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { hashApiKey } from '../../app/keys/made-keys.ts'
import { allScopes } from '../../contract/principal.ts'
import { PrefixMemory } from '../../core/prefix/prefix-memory.ts'

const hi = { role: 'user', content: 'hi' }
const answer = { role: 'assistant', content: 'hello' }
const apiKeys = ['one', 'two'].map((key) => ({ hash: hashApiKey(key), scopes: allScopes }))

function open() {
  const server = openTestServer({ prefixes: new PrefixMemory(), auth: { apiKeys } })
  const ask = (url: string, payload: object, headers: Record<string, string> = {}) =>
    server.app.inject({
      method: 'POST',
      url,
      payload: { model: 'default', ...payload },
      headers: { 'x-api-key': 'one', ...headers },
    })
  return { ...server, ask }
}

const chat = '/v1/chat/completions'

test.each([false, true])('a turn that changed an earlier message names it (stream: %s)', async (stream) => {
  const { ask, logLines } = open()
  const first = await ask(chat, { stream, messages: [hi] })
  expect(first.headers).not.toHaveProperty('x-dragoman-prefix')
  const second = await ask(chat, { stream, messages: [hi, answer, hi] })
  expect(second.headers).not.toHaveProperty('x-dragoman-prefix')
  const third = await ask(chat, { stream, messages: [hi, { ...answer, content: 'Hello' }, hi, answer, hi] })
  expect(third.headers['x-dragoman-prefix']).toBe('messages[1].content;part=text;change=text;missed=2')
  expect(logLines.map((line) => JSON.parse(line).divergedAt).filter((at) => at !== undefined)).toEqual([
    'prompt.messages[1].parts[0]',
  ])
})

test("it is named in the caller's words", async () => {
  const { ask } = open()
  const at = (minute: string) => ({ max_tokens: 9, system: `It is 12:${minute}.` })
  const session = { 'x-claude-code-session-id': 's1' }
  await ask('/v1/messages', { ...at('01'), messages: [hi] }, session)
  const { headers } = await ask('/v1/messages', { ...at('02'), messages: [hi, answer, hi] }, session)
  expect(headers['x-dragoman-prefix']).toBe('system;part=text;change=date;missed=3')
})

test('prompt_cache_key names a session too', async () => {
  const { ask } = open()
  const greet = { role: 'system', content: 'Be brief.' }
  await ask(chat, { prompt_cache_key: 'k', messages: [greet, hi] })
  const changed = { ...hi, content: 'hi, it is 12:02' }
  const { headers } = await ask(chat, { prompt_cache_key: 'k', messages: [greet, changed, answer, { ...hi, content: 'Go on.' }] })
  expect(headers['x-dragoman-prefix']).toBe('messages[1].content;part=text;change=added;missed=1')
})

test("a caller learns nothing of another's conversation", async () => {
  const { ask } = open()
  const session = { 'session-id': 's1' }
  await ask(chat, { messages: [hi, answer, hi] }, session)
  const changed = { messages: [hi, { ...answer, content: 'Hello' }, hi, answer, hi] }
  const other = await ask(chat, changed, { ...session, 'x-api-key': 'two' })
  expect(other.headers).not.toHaveProperty('x-dragoman-prefix')
  expect((await ask(chat, changed, session)).headers['x-dragoman-prefix']).toMatch('messages[1].content')
})
