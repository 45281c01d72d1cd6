import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { streamText, type ToolSet } from 'ai'
import LlamaStackClient from 'llama-stack-client-0.3'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, until } from '../../support/http/app.ts'
import { pythonClients } from '../../support/process/python-clients.ts'
import { startToolServer } from '../../support/tools/tool-server.ts'
import { checkResponse, checkResponseEvent } from '../../support/upstream/response-checks.ts'
import { createWireCheck } from '../../support/wire-schema.ts'

let server: Awaited<ReturnType<typeof startToolServer>>
let app: RunningApp
beforeAll(async () => {
  server = await startToolServer()
  app = server.app
})
afterAll(() => server.close())

const openai = (apiKey = 'with-tools') => new OpenAI({ baseURL: `${app.url}/v1`, apiKey, maxRetries: 0 })
const anthropic = (apiKey = 'with-tools') => new Anthropic({ baseURL: app.url, apiKey, maxRetries: 0 })
const model = 'scripted'
const user = (content: string) => ({ role: 'user' as const, content })
const city = { type: 'object', properties: { city: { type: 'string' } } }

/** Throws for a reply that the server's own description does not allow. */
function checkDocument(path: string, reply: unknown): void {
  const operation = server.document.paths[path]?.post
  if (operation === undefined) throw new Error(`no operation at ${path}`)
  server.judge.checkReply(operation, { status: 200, type: 'application/json', text: JSON.stringify(reply) })
}

describe('the openai SDK', () => {
  const tools: OpenAI.Responses.Tool[] = [{ type: 'web_search' }]

  test('gets a search, what it found and the answer, and continues', async () => {
    const response = await openai().responses.create({ model, input: 'When are tides?', tools })
    checkResponse(JSON.parse(JSON.stringify({ ...response, output_text: undefined, _request_id: undefined })))
    checkDocument('/v1/responses', { ...response, output_text: undefined })
    expect(response.output.map(({ type }) => type)).toEqual(['message', 'web_search_call', 'message'])
    expect(response.output[1]).toMatchObject({
      status: 'completed',
      action: { type: 'search', query: 'tides', sources: [{ type: 'url', url: 'https://a.example/tides' }] },
    })
    expect(response.output_text).toBe('I look. Twice a day, the page says.')
    expect(server.queries.at(-1)).toBe('tides')
    // Both turns of the model.
    expect(response.usage?.output_tokens).toBeGreaterThan(8)

    const stored = await openai().responses.retrieve(response.id)
    expect(stored.output).toEqual(response.output)
    const next = await openai().responses.create({ model, input: 'Thanks', previous_response_id: response.id })
    expect(next.output_text).toBe('Hello.')
    const { data, response: head } = await openai()
      .responses.create({
        model,
        input: [user('When are tides?'), ...(response.output as OpenAI.Responses.ResponseInput), user('Thanks')],
      })
      .withResponse()
    expect([data.output_text, head.headers.get('x-dragoman-ignored')]).toEqual(['Hello.', null])
    // What the model sees is the same from the store and from the client.
    expect(data.usage?.input_tokens).toBe(next.usage?.input_tokens)
  })

  test('follows a stream of it', async () => {
    const stream = openai().responses.stream({ model, input: 'When are tides?', tools })
    const types: string[] = []
    for await (const event of stream) {
      checkResponseEvent(JSON.parse(JSON.stringify(event)))
      types.push(event.type.replace('response.', ''))
    }
    expect(types.filter((type) => type.startsWith('web_search') || type === 'output_item.done')).toEqual([
      'output_item.done',
      'web_search_call.in_progress',
      'web_search_call.searching',
      'web_search_call.completed',
      'output_item.done',
      'output_item.done',
    ])
    expect((await stream.finalResponse()).output_text).toBe('I look. Twice a day, the page says.')
  })

  test('follows it over a WebSocket', async () => {
    const socket = new ResponsesWS(openai())
    const types: string[] = []
    socket.send({ type: 'response.create', model, input: 'When are tides?', tools, store: false })
    for await (const { type, ...more } of socket) {
      if (type === 'error') throw new Error(JSON.stringify(more))
      if (type !== 'message' || !('message' in more)) continue
      types.push(more.message.type)
      if (more.message.type === 'response.completed') break
    }
    socket.close()
    expect(types).toContain('response.web_search_call.completed')
  })

  describe('with a tool of an MCP server', () => {
    const never: OpenAI.Responses.Tool[] = [{ type: 'mcp', server_label: 'docs', require_approval: 'never' }]
    const always: OpenAI.Responses.Tool[] = [{ type: 'mcp', server_label: 'docs', allowed_tools: ['echo'] }]

    test('gets its list of tools, the call and the answer', async () => {
      const response = await openai().responses.create({ model, input: 'echo', tools: never })
      checkResponse(JSON.parse(JSON.stringify({ ...response, output_text: undefined, _request_id: undefined })))
      expect(response.output).toMatchObject([
        { type: 'mcp_list_tools', server_label: 'docs' },
        {
          type: 'mcp_call',
          server_label: 'docs',
          name: 'echo',
          arguments: '{"text":"so be it"}',
          output: 'so be it',
          error: null,
        },
        { type: 'message' },
      ])
      expect(response.output_text).toBe('It said so.')
    })

    test('chooses one by name', async () => {
      const tool_choice = { type: 'mcp', server_label: 'docs', name: 'echo' } as const
      const { output } = await openai().responses.create({ model, input: 'echo', tools: never, tool_choice })
      expect(output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'mcp_call', 'message'])
    })

    test.each([
      [true, { output: 'so be it' }, 'It said so.'],
      [false, { output: null, status: 'failed' }, 'Then not.'],
    ])('is asked before a call, and answers in the next request: %s', async (approve, call, words) => {
      const asked = await openai().responses.create({ model, input: 'echo', tools: always })
      const [list, request, ...more] = asked.output
      expect([asked.status, list, request, more]).toMatchObject([
        'completed',
        { type: 'mcp_list_tools', tools: [{ name: 'echo' }] },
        { type: 'mcp_approval_request', server_label: 'docs', name: 'echo', arguments: '{"text":"so be it"}' },
        [],
      ])
      const id = request?.id ?? ''
      const answer = { type: 'mcp_approval_response', approval_request_id: id, approve } as const
      const answered = await openai().responses.create({
        model,
        input: [answer],
        tools: always,
        previous_response_id: asked.id,
      })
      expect(answered.output).toMatchObject([{ type: 'mcp_call', approval_request_id: id, ...call }, { type: 'message' }])
      expect(answered.output_text).toBe(words)

      const next = await openai().responses.create({ model, input: 'Thanks', previous_response_id: answered.id })
      expect(next.output_text).toBe('Hello.')
    })

    test('ends it with the response', async () => {
      const background = await openai().responses.create({ model, input: 'hang', tools: never, background: true })
      const items = async () => (await openai().responses.retrieve(background.id)).output.map(({ type }) => type)
      const stream = await openai().responses.create({ model, input: 'hang', tools: never, stream: true })
      for await (const { type } of stream) if (type === 'response.mcp_call_arguments.done') break
      await until(async () => (await items()).includes('mcp_call'))
      const cancelled = await openai().responses.cancel(background.id)
      expect(cancelled.status).toBe('cancelled')
      expect(await items()).not.toContain('message')
      // The server of the tools knows of both, and answers others.
      await until(async () => {
        const { output } = await openai().responses.create({ model, input: 'who was cancelled?', tools: never })
        const call = output.find(({ type }) => type === 'mcp_call')
        return call?.type === 'mcp_call' && JSON.parse(call.output ?? '[]').length === 2
      })
    })
  })

  test('gets a program, what it printed and the answer', async ({ skip }) => {
    const container = { type: 'auto' } as const
    const request = { model, input: 'two and two', tools: [{ type: 'code_interpreter', container }] } as const
    const response = await openai()
      .responses.create({ ...request, tools: [...request.tools] })
      .catch((error: unknown) => {
        if (error instanceof OpenAI.BadRequestError) skip(`programs cannot be isolated here: ${error.message}`)
        throw error
      })
    checkResponse(JSON.parse(JSON.stringify({ ...response, output_text: undefined, _request_id: undefined })))
    expect(response.output[0]).toMatchObject({
      type: 'code_interpreter_call',
      status: 'completed',
      code: 'print(2 + 2)',
      container_id: response.id.replace('resp_', 'cntr_'),
      outputs: [{ type: 'logs', logs: '4\n' }],
    })
    expect(response.output_text).toBe('Four.')
  })

  test('limits the calls', async () => {
    const count = server.queries.length
    const { output } = await openai().responses.create({ model, input: 'When are tides?', tools, max_tool_calls: 0 })
    expect(server.queries).toHaveLength(count)
    expect(output.map(({ type }) => type)).toEqual(['message'])
  })

  test('gets the call of its own function, which ends the turn', async () => {
    const own = { type: 'function', name: 'weather', parameters: city, strict: false } as const
    const { output } = await openai().responses.create({ model, input: 'Oslo?', tools: [...tools, own] })
    expect(output).toMatchObject([{ type: 'function_call', name: 'weather', arguments: '{"city": "Oslo"}' }])
  })

  test('with a key that may not use tools, has a search left out beside a function, and refused alone', async () => {
    const own = { type: 'function', name: 'weather', parameters: city, strict: false } as const
    const { response } = await openai('without')
      .responses.create({ model, input: 'Hi', tools: [...tools, own] })
      .withResponse()
    expect(response.headers.get('x-dragoman-ignored')).toBe('tools[0].web_search')
    for (const fields of [{ tools }, { tools: [...tools, own], tool_choice: { type: 'web_search_preview' as const } }]) {
      await expect(openai('without').responses.create({ model, input: 'Hi', ...fields })).rejects.toMatchObject({ status: 400 })
    }
  })
})

describe('the Anthropic SDK', () => {
  const checkMessage = createWireCheck('AnthropicMessage')
  const tools: Anthropic.WebSearchTool20250305[] = [{ type: 'web_search_20250305', name: 'web_search' }]
  const asked = { model, max_tokens: 200, messages: [{ role: 'user', content: 'When are tides?' }], tools } as const
  const request = { ...asked, messages: [...asked.messages], tools: [...tools] }

  test('gets a search, what it found and the answer, and sends it back', async () => {
    const message = await anthropic().messages.create(request)
    const reply: unknown = JSON.parse(JSON.stringify({ ...message, _request_id: undefined }))
    checkMessage(reply)
    checkDocument('/v1/messages', reply)
    expect(message.content.map(({ type }) => type)).toEqual(['text', 'server_tool_use', 'web_search_tool_result', 'text'])
    expect(message.content[2]).toMatchObject({ content: [{ type: 'web_search_result', url: 'https://a.example/tides' }] })
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { server_tool_use: { web_search_requests: 1 } } })

    const again = [...request.messages, { role: 'assistant' as const, content: message.content }]
    const { data, response } = await anthropic()
      .messages.create({ ...request, messages: [...again, { role: 'user', content: 'Thanks' }] as Anthropic.MessageParam[] })
      .withResponse()
    expect(data.content).toMatchObject([{ text: 'Hello.' }])
    expect(response.headers.get('x-dragoman-ignored')).toBeNull()
  })

  test('follows a stream of it', async () => {
    const whole = await anthropic().messages.create(request)
    const streamed = await anthropic().messages.stream(request).finalMessage()
    const shape = ({ content }: Anthropic.Message) =>
      content.map((block) => [block.type, 'text' in block ? block.text : 'input' in block ? block.input : undefined])
    expect(shape(streamed)).toEqual(shape(whole))
    expect(streamed.usage.server_tool_use).toMatchObject({ web_search_requests: 1 })
  })

  test('gets a tool of an MCP server that the configuration has', async () => {
    const { content } = await anthropic().beta.messages.create({
      model,
      max_tokens: 200,
      messages: [user('echo')],
      mcp_servers: [{ type: 'url', name: 'docs' } as Anthropic.Beta.BetaRequestMCPServerURLDefinition],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs' }],
      betas: ['mcp-client-2025-11-20'],
    })
    expect(content).toMatchObject([
      { type: 'mcp_tool_use', server_name: 'docs', name: 'echo', input: { text: 'so be it' } },
      { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'so be it' }] },
      { type: 'text', text: 'It said so.' },
    ])
  })

  test('with a key that may not use tools, has a search refused alone', async () => {
    await expect(anthropic('without').messages.create(request)).rejects.toMatchObject({ status: 400 })
  })
})

test('the AI SDK parses a search and a tool of an MCP server', async () => {
  const provider = createOpenAI({ baseURL: `${app.url}/v1`, apiKey: 'with-tools' })
  const ask = async (prompt: string, tools: ToolSet) => {
    const result = streamText({ model: provider.responses(model), prompt, tools })
    return { text: await result.text, results: (await result.toolResults).map(({ output }): unknown => output) }
  }
  const found = await ask('When are tides?', { web_search: provider.tools.webSearch({}) as never })
  expect(found.text).toBe('I look. Twice a day, the page says.')
  expect(found.results).toMatchObject([{ sources: [{ url: 'https://a.example/tides' }] }])
  const said = await ask('echo', {
    mcp: provider.tools.mcp({ serverLabel: 'docs', connectorId: 'docs', requireApproval: 'never' }) as never,
  })
  expect(said.text).toBe('It said so.')
})

test('llama-stack has only what the model says in the end', async () => {
  const ask = async (stream: boolean) => {
    const headers = { authorization: 'Bearer with-tools', 'content-type': 'application/json' }
    const messages = [{ role: 'user', content: 'When are tides?' }]
    const body = JSON.stringify({ model_id: model, messages, toolgroups: ['builtin::websearch'], stream })
    return await (await fetch(`${app.url}/v1/inference/chat-completion`, { method: 'POST', headers, body })).text()
  }
  expect(JSON.parse(await ask(false))).toMatchObject({
    completion_message: { content: 'I look. Twice a day, the page says.', stop_reason: 'end_of_turn', tool_calls: [] },
  })
  expect(await ask(true)).not.toContain('tool_call')
})

test('the client of llama-stack gets the answer, and the text of a stream', async () => {
  const client = new LlamaStackClient({ baseURL: app.url, apiKey: 'with-tools', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'When are tides?' }]
  const request = { model_id: model, messages, toolgroups: ['builtin::websearch'] }
  const whole = await client.inference.chatCompletion(request)
  expect(whole.completion_message).toMatchObject({ content: 'I look. Twice a day, the page says.', stop_reason: 'end_of_turn' })
  let text = ''
  for await (const { event } of await client.inference.chatCompletion({ ...request, stream: true }))
    if (event.delta.type === 'text') text += event.delta.text
  expect(text).toContain('Twice a day, the page says.')
})

test.skipIf(!pythonClients.areInstalled)(
  `the Python clients parse all of it, by their own models, too${pythonClients.hint}`,
  async () => {
    const script = fileURLToPath(new URL('../../python-clients/clients.py', import.meta.url))
    const env = pythonClients.environment(server.folder)
    const { stdout } = await promisify(execFile)('python3', [script, app.url, 'server_tools_client'], { env })
    const outcomes = stdout.trim().split('\n')
    const said = Object.fromEntries(
      outcomes.map((line) => JSON.parse(line)).map(({ name, said, failure }) => [name, said ?? failure]),
    )
    const items = ['ResponseOutputMessage', 'ResponseFunctionWebSearch', 'ResponseOutputMessage']
    const blocks = ['TextBlock', 'ServerToolUseBlock', 'WebSearchToolResultBlock', 'TextBlock']
    const events = ['in_progress', 'searching', 'completed'].map((state) => `response.web_search_call.${state}`)
    const answer = 'I look. Twice a day, the page says.'
    expect(said).toEqual({
      openai_search: [items, items, events, 'tides', expect.anything(), answer],
      openai_mcp: [['McpListTools', 'McpCall', 'ResponseOutputMessage'], 'so be it', 'It said so.'],
      openai_approvals: [
        ['McpApprovalRequest', 'It said so.'],
        ['McpApprovalRequest', 'Then not.'],
      ],
      openai_program: expect.toBeOneOf([
        [['ResponseCodeInterpreterToolCall', 'ResponseOutputMessage'], '4\n', 'Four.'],
        'programs cannot be isolated here',
      ]),
      anthropic_search: [blocks, blocks, 'https://a.example/tides', 1, 'Hello.'],
      anthropic_mcp: [['BetaMCPToolUseBlock', 'BetaMCPToolResultBlock', 'BetaTextBlock'], 'so be it'],
    })
  },
)
