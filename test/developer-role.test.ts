import { expect, test } from 'vitest'
import { type Message, plainChat } from '../src/contract/request.ts'
import { type ProfileName, profileNames } from '../src/engine/remote/servers/profile.ts'
import { startApp } from './support/http/app.ts'
import { text } from './support/parts.ts'
import { messageOf, textBlock } from './support/upstream/messages-stream.ts'
import { answer, ask, closedAfterwards, engineOver, fine, upstream } from './support/upstream/remote-engine.ts'
import { messageItem, responseOf } from './support/upstream/responses-stream.ts'

const say = (role: 'developer' | 'user', words: string): Message => ({ role, content: [text(words)] })
const messages = [say('developer', 'a'), say('user', 'b'), say('developer', 'c'), say('user', 'd')]
const prompt = { type: 'chat', ...plainChat, messages } as const
const roles = (list: unknown) => (list as readonly { readonly role: string }[]).map(({ role }) => role)
const role = (kind: ProfileName) => (['openai', 'dragoman'].includes(kind) ? 'developer' : 'system')

test.each(profileNames)(
  'a server of kind %s gets developers by the role that it knows, also late, in all protocols',
  async (kind) => {
    const chat = await upstream(fine)
    await answer(engineOver([chat], { profile: kind, protocol: 'chat', upstreamModel: 'up' }), ask('', { prompt }))
    expect(roles(chat.seen[0]?.body.messages)).toEqual([role(kind), 'user', role(kind), 'user'])
    const responses = await upstream(responseOf(messageItem(0, 'ok')))
    await answer(engineOver([responses], { profile: kind, protocol: 'responses', upstreamModel: 'up' }), ask('', { prompt }))
    expect(roles(responses.seen[0]?.body.input)).toEqual([role(kind), 'user', role(kind), 'user'])
    const other = await upstream(messageOf(textBlock(0, 'ok')))
    const first = { ...prompt, messages: messages.slice(0, 2) }
    await answer(engineOver([other], { profile: kind, protocol: 'messages', upstreamModel: 'up' }), ask('', { prompt: first }))
    expect(other.seen[0]?.body).toMatchObject({ system: 'a', messages: [{ role: 'user', content: 'b' }] })
  },
)

test.each([
  ['/v1/chat/completions', { messages: ['developer', 'user', 'developer', 'user'].map((role) => ({ role, content: role })) }],
  ['/v1/responses', { input: ['developer', 'user', 'developer', 'user'].map((role) => ({ role, content: role })) }],
])('a developer that %s names is a system message for vLLM, which refuses the role', async (path, body) => {
  const server = await upstream((request, response) => {
    if (!JSON.stringify(request.body).includes('"role":"developer"')) return fine(request, response)
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'Unexpected message role.', code: 400 } }))
    return undefined
  })
  const endpoints = [{ url: server.url }]
  const model = { id: 'm', engine: 'remote', endpoints, server: 'vllm', upstreamModel: 'up' } as const
  const app = closedAfterwards(await startApp({ builtinModel: false, models: [model] }))
  const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'm', ...body }) }
  expect((await fetch(app.url + path, sent)).status).toBe(200)
  expect(server.seen[0]?.body.messages).toMatchObject([
    { role: 'system', content: 'developer' },
    { role: 'user' },
    { role: 'system', content: 'developer' },
    { role: 'user' },
  ])
})
