import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../test/support/http/test-server.ts'
import { scriptedLlama } from '../../test/support/llama/scripted-llama.ts'
import { engineOver, upstream } from '../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf } from '../../test/support/upstream/upstream.ts'
import type { Engine } from '../contract/engine.ts'
import type { ServerTool } from '../contract/server-tool.ts'
import { createFakeEngine } from '../engine/fake/engine.ts'
import { parseScriptFile } from '../engine/fake/script.ts'
import { SourceToolBox } from '../tools/tool-box.ts'

const search = '<tool_call>{"name":"web_search","arguments":{"query":"weather"}}</tool_call>'
const script = `
- result: sunny
  reply: { raw: 'It is sunny.${search}' }
- result: There is no tool 'get_weather'
  reply: { raw: '${search}' }
- match: weather
  reply: { raw: '<tool_call>{"name":"get_weather","arguments":{"city":"B"}}</tool_call>' }
- reply: { raw: Hello. }
`
const template = fileURLToPath(new URL('../dialect/openai-chat/__fixtures__/hermes.jinja', import.meta.url))

/** A server whose model calls a tool that is not there, then one that is, and then that one again in its answer. */
function open(engine: Engine = createFakeEngine({ script: parseScriptFile(script, 'script'), toolFormat: 'hermes' })) {
  const run = async () => ({ text: 'sunny', isError: false })
  const tool: ServerTool = { name: 'web_search', kind: 'web-search', description: 'Searches.', parameters: {}, run }
  const source = { list: () => ({ tools: [tool], absent: [] }), close: async () => undefined }
  const { app } = openTestServer({ engine, tools: new SourceToolBox([source], ['web_search']) })
  return async (url: string, body: object) => {
    const reply = await app.inject({ method: 'POST', url, payload: body })
    expect([reply.statusCode, reply.body]).toEqual([200, expect.anything()])
    return reply.body
  }
}

const messages = [{ role: 'user', content: 'How is the weather?' }]
const chat = { model: 'default', messages, enable_tools: true, max_tool_calls_per_message: 2 }

const requests: readonly (readonly [string, object])[] = [
  ['/v1/chat/completions', chat],
  ['/api/inference/chat/completions', chat],
  ['/v1/responses', { model: 'default', input: messages, tools: [{ type: 'web_search' }] }],
  ['/v1/messages', { model: 'default', max_tokens: 99, messages, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['/v1/inference/chat-completion', { model_id: 'default', messages, toolgroups: ['builtin::websearch'] }],
]

describe('a call of a tool that is not there, and one in the last turn, are no answer', () => {
  test.each(requests.flatMap(([path, body]) => [false, true].map((stream) => [path, stream, body] as const)))(
    'POST %s with stream %j',
    async (path, stream, body) => {
      const text = await open()(path, { ...body, stream })
      expect(text.replaceAll(/"\},\n?|"/g, '')).toContain('sunny')
      expect(text).not.toMatch(/get_weather|tool_call>|There is no tool/)
    },
  )

  test('of the embedded engine', async () => {
    const script = JSON.stringify({ raw: 'Hm.<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>' })
    const post = open(scriptedLlama(template))
    const { choices } = JSON.parse(await post('/v1/chat/completions', { ...chat, messages: [{ role: 'user', content: script }] }))
    // The model echoes what it is asked last.
    expect(choices[0].message.content).toBe(
      'Hm.\n\nHm.\n\nYou have used all the tool calls that you may make. Answer now with what you know, without calling tools.',
    )
  })

  test.each([
    ['vllm', { index: 0, id: 'c1', function: { name: 'get_weather', arguments: '{"city": "B"}' } }, ''],
    ['llamacpp', { index: 0, id: 'c1', function: { name: 'functions.get_weather', arguments: '{}' } }, 'Hm. '],
    ['sglang', undefined, 'Hm. <tool_call>{"name": "get_weather", "arguments": {"city": "B"}}</tool_call>'],
    ['someone', undefined, '<|python_tag|>{"name": "get_weather", "parameters": {"city": "B"}}'],
  ])('of a server such as %s', async (ownedBy, call, content) => {
    const turns = [
      chatChunk({ delta: { content, ...(call !== undefined && { tool_calls: [call] }) }, finish_reason: 'stop' }),
      chatChunk({ delta: { content: 'Well.' }, finish_reason: 'stop' }),
    ]
    const answer: Answer = (request, response) => {
      if (request.path.endsWith('/chat/completions')) return streamOf(turns.shift() ?? '', doneLine)(request, response)
      response.writeHead(404).end()
    }
    const server = await upstream(answer, { ownedBy })
    const text = await open(engineOver([server]))('/v1/chat/completions', chat)
    expect(JSON.parse(text).choices[0].message.content).toBe(content.startsWith('Hm') ? 'Hm. \n\nWell.' : 'Well.')
    const asked = server.seen.filter(({ path }) => path.endsWith('/chat/completions'))
    expect(JSON.stringify(asked.at(-1)?.body.messages)).toContain("There is no tool 'get_weather'.")
  })
})
