import { expect, test } from 'vitest'
import { openTestServer } from '../../test/support/http/test-server.ts'
import { engineOver, upstream } from '../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf } from '../../test/support/upstream/upstream.ts'
import type { ServerTool } from '../contract/server-tool.ts'
import { SourceToolBox } from '../tools/tool-box.ts'

const call = (index: number, name: string) => ({ index, id: `c${index}`, function: { name, arguments: '{"q": "x"}' } })
const both = chatChunk({ delta: { tool_calls: [call(0, 'mine'), call(1, 'web_search')] }, finish_reason: 'tool_calls' })
const done = chatChunk({ delta: { content: 'Done.' }, finish_reason: 'stop' })

/** A server over a model that calls a tool of the caller and one of the server in one turn. */
async function open() {
  const turns = [both, done]
  const answer: Answer = (request, response) => streamOf(turns.shift() ?? '', doneLine)(request, response)
  const behind = await upstream(answer)
  const sources = [{ url: 'https://a.example/', title: 'A' }]
  const run = async () => ({ text: 'sunny', isError: false, sources })
  const tool: ServerTool = { name: 'web_search', kind: 'web-search', description: 'Searches.', parameters: {}, run }
  const source = { list: () => ({ tools: [tool], absent: [] }), close: async () => undefined }
  const { app } = openTestServer({ engine: engineOver([behind]), tools: new SourceToolBox([source], ['web_search']) })
  const post = async (url: string, payload: object) => (await app.inject({ method: 'POST', url, payload })).json()
  return { post, seen: behind.seen }
}

type WireMessage = {
  readonly role: string
  readonly content: unknown
  readonly tool_calls?: readonly { readonly function: { readonly name: string } }[]
}

/** The calls and results that the model got last. */
function lastOf(seen: Awaited<ReturnType<typeof open>>['seen']) {
  const messages = (seen.at(-1)?.body.messages ?? []) as readonly WireMessage[]
  const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls.map((made) => made.function.name))
  return new Set([...calls, ...messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))])
}
const sunny = expect.stringMatching(/sunny$/)

test('a response shows the server’s call beside the client’s, and the next request brings both results back', async () => {
  const { post, seen } = await open()
  const tools = [{ type: 'web_search' }, { type: 'function', name: 'mine', parameters: {} }]
  const asked = [{ role: 'user', content: 'Go.' }]
  const { output } = await post('/v1/responses', { model: 'default', tools, input: asked })
  expect(output.map(({ type }: { type: string }) => type)).toEqual(['function_call', 'web_search_call'])
  const result = { type: 'function_call_output', call_id: output[0].call_id, output: 'my result' }
  await post('/v1/responses', { model: 'default', tools, input: [...asked, ...output, result] })
  expect(lastOf(seen)).toEqual(new Set(['mine', 'my result', 'web_search', sunny]))
})

test('a message shows the server’s call beside the client’s, and the next request brings both results back', async () => {
  const { post, seen } = await open()
  const tools = [
    { type: 'web_search_20250305', name: 'web_search' },
    { name: 'mine', input_schema: { type: 'object' } },
  ]
  const asked = { role: 'user', content: 'Go.' }
  const { content, stop_reason } = await post('/v1/messages', { model: 'default', max_tokens: 99, tools, messages: [asked] })
  expect(stop_reason).toBe('tool_use')
  expect(content.map(({ type }: { type: string }) => type)).toEqual(['tool_use', 'server_tool_use', 'web_search_tool_result'])
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: content[0].id, content: 'my result' }] }
  await post('/v1/messages', {
    model: 'default',
    max_tokens: 99,
    tools,
    messages: [asked, { role: 'assistant', content }, result],
  })
  expect(lastOf(seen)).toEqual(new Set(['mine', 'my result', 'web_search', sunny]))
})
