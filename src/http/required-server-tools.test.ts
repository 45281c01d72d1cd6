import { describe, expect, test } from 'vitest'
import { openTestServer } from '../../test/support/http/test-server.ts'
import { shortUsage, stubEngine } from '../../test/support/upstream/stub-engine.ts'
import { inTurn } from '../base/emit.ts'
import type { EngineEvent } from '../contract/event.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { ServerTool } from '../contract/server-tool.ts'
import { SourceToolBox } from '../tools/tool-box.ts'

const called = (name: string): EngineEvent[] => [
  { type: 'tool-call-start', choice: 0, id: 'c', name },
  { type: 'tool-call-delta', choice: 0, id: 'c', delta: '{}' },
  { type: 'tool-call-end', choice: 0, id: 'c' },
  { type: 'finish', choice: 0, reason: 'tool-calls' },
  shortUsage,
]
const said: EngineEvent[] = [
  { type: 'text-delta', choice: 0, delta: 'Done.' },
  { type: 'finish', choice: 0, reason: 'stop' },
  shortUsage,
]

/** A server with two tools, over a model that calls where it has to. */
function open() {
  const requests: GenerationRequest[] = []
  const engine = stubEngine({
    prepare: async (request) => {
      requests.push(request)
      const { toolChoice } = request
      const events = toolChoice.type === 'required' ? called(toolChoice.names?.[0] ?? 'python') : said
      return { run: async (_signal, emit) => inTurn(events, emit) }
    },
  })
  const tools = (['web_search', 'python'] as const).map(
    (name): ServerTool => ({
      name,
      kind: name === 'python' ? 'python' : 'web-search',
      description: '',
      parameters: {},
      run: async () => ({ text: `ran ${name}`, isError: false }),
    }),
  )
  const source = { list: () => ({ tools, absent: [] }), close: async () => undefined }
  const { app } = openTestServer({ engine, tools: new SourceToolBox([source], ['web_search', 'python']) })
  const post = async (url: string, body: object) => app.inject({ method: 'POST', url, payload: { model: 'default', ...body } })
  return { post, requests }
}

const messages = [{ role: 'user', content: 'Go.' }]
const chat = { messages, enable_tools: true }
const message = { messages, max_tokens: 99, enable_tools: true }
const hosted = { messages, max_tokens: 99, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }
const response = { input: messages, tools: [{ type: 'web_search' }] }
const stack = { model_id: 'default', messages, toolgroups: ['builtin::websearch'] }
const named = (name: string) => ({ type: 'function', function: { name } })

describe('a required call of tools that the server runs', () => {
  test.each([
    ['/v1/chat/completions', { ...chat, tool_choice: 'required' }, undefined],
    ['/v1/chat/completions', { ...chat, tool_choice: named('web_search') }, ['web_search']],
    [
      '/v1/chat/completions',
      { ...chat, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named('python')] } } },
      ['python'],
    ],
    ['/v1/messages', { ...message, tool_choice: { type: 'any' } }, undefined],
    ['/v1/messages', { ...message, tool_choice: { type: 'tool', name: 'python' } }, ['python']],
    ['/v1/messages', { ...hosted, tool_choice: { type: 'any' } }, undefined],
    ['/v1/messages', { ...hosted, tool_choice: { type: 'tool', name: 'web_search' } }, ['web_search']],
    ['/v1/responses', { ...response, tool_choice: 'required' }, undefined],
    ['/v1/responses', { ...response, tool_choice: { type: 'web_search' } }, ['web_search']],
    ['/v1/inference/chat-completion', { ...stack, tool_config: { tool_choice: 'required' } }, undefined],
    ['/v1/inference/chat-completion', { ...stack, tool_config: { tool_choice: 'brave_search' } }, ['web_search']],
  ])('POST %s %j is made, and then the model answers', async (path, body, names) => {
    const { post, requests } = open()
    const reply = await post(path, body)
    expect([reply.statusCode, reply.body]).toEqual([200, expect.stringContaining('Done.')])
    expect(requests.map(({ toolChoice }) => toolChoice)).toEqual([
      { type: 'required', ...(names !== undefined && { names }) },
      { type: 'auto' },
    ])
  })

  test.each([
    ['/v1/chat/completions', { ...chat, tool_choice: named('rm') }, 'tool_choice', 'rm; there are: web_search, python'],
    ['/v1/chat/completions', { ...chat, tool_choice: 'required', max_tool_calls_per_message: 0 }, 'tool_choice', 'no tools'],
    ['/v1/chat/completions', { ...chat, tool_choice: 'required', enabled_tools: [] }, 'tool_choice', 'without any'],
    ['/v1/chat/completions', { messages, tool_choice: named('web_search') }, 'tool_choice', 'only allowed when tools'],
    ['/v1/messages', { ...message, tool_choice: { type: 'tool', name: 'rm' } }, undefined, 'there are: web_search, python'],
    ['/v1/messages', { ...message, tool_choice: { type: 'any' }, enabled_tools: [] }, undefined, 'needs a tool to call'],
    ['/v1/inference/chat-completion', { ...stack, tool_config: { tool_choice: 'rm' } }, undefined, 'there are: web_search'],
  ])('POST %s %j is refused by name', async (path, body, param, words) => {
    const reply = await open().post(path, body)
    expect([reply.statusCode, reply.body]).toEqual([400, expect.stringContaining(words)])
    if (param !== undefined) expect(reply.json().error.param).toBe(param)
    expect(reply.body).toContain('tool_choice')
  })
})
