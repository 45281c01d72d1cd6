import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { hasSandbox, sandboxHint } from '../../support/tools/sandbox.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

/** What tests of gateways expect of MCP servers and hosted tools in Responses. */
const call = (name: string, args: object) => `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`
const script = [
  { result: 'from (one|two)', reply: { raw: 'It is from $1.' } },
  { result: 'Twice a day|4', reply: { raw: 'I know.' } },
  { result: 'The tool failed', reply: { raw: 'It failed.' } },
  { match: 'bad (\\w+)', reply: { raw: call('one__$1', {}) } },
  { match: 'ask one', reply: { raw: call('one__echo', { text: 'from one' }) } },
  { match: 'ask two', reply: { raw: call('two__echo', { text: 'from two' }) } },
  { match: 'diagnostics', reply: { raw: call('diagnose', { system: 'core' }) } },
  { match: 'tides', reply: { raw: call('web_search', { query: 'tides' }) } },
  { match: 'sum', reply: { raw: call('python', { code: 'print(2 + 2)' }) } },
  { reply: { raw: call('local_search', { query: 'x' }) } },
]
const program = fileURLToPath(new URL('../../support/mcp/program.mjs', import.meta.url))

let folder: string
let service: Awaited<ReturnType<typeof listenOnLoopback>>
let app: RunningApp
let client: OpenAI
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-hosted-tools-'))
  await chmod(folder, 0o711)
  await writeFile(join(folder, 'script.yaml'), JSON.stringify(script))
  service = await listenOnLoopback((_, response) => {
    const found = { results: [{ url: 'https://a.example/', title: 'Tides', content: 'Twice a day.' }] }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found))
  })
  const server = { command: process.execPath, args: [program] }
  app = await startApp({
    storage: {},
    models: [{ id: 'm', engine: 'fake', script: join(folder, 'script.yaml'), toolFormat: 'hermes', slots: 8 }],
    tools: {
      webSearch: { kind: 'searxng', url: service.origin },
      ...(hasSandbox && { python: true as const, sessions: { folder: join(folder, 'sandbox') } }),
      mcp: { one: server, two: server },
    },
  })
  client = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none', maxRetries: 0 })
})
afterAll(async () => {
  await app?.close()
  await service?.close()
  await rm(folder, { recursive: true, force: true })
})

const mcp = (label: string) => ({ type: 'mcp', server_label: label, require_approval: 'never' }) as const
const own = (name: string) => ({ type: 'function', name, parameters: { type: 'object' }, strict: false }) as const
const create = (input: string, tools: OpenAI.Responses.Tool[], more: object = {}) =>
  client.responses.create({ model: 'm', input, tools, ...more, stream: false })
const streamed = async (input: string, tools: OpenAI.Responses.Tool[], more: object = {}) => {
  const stream = await client.responses.create({ model: 'm', input, tools, ...more, stream: true })
  const events: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}
const endOf = (events: readonly OpenAI.Responses.ResponseStreamEvent[]) => {
  const [end, ...others] = events.flatMap((event) => (event.type === 'response.completed' ? [event.response] : []))
  expect(others).toEqual([])
  if (end === undefined) throw new Error('the stream has no end')
  return end
}

describe('MCP servers', () => {
  test('of one request are listed each, and a call names the server that ran it', async () => {
    const whole = await create('ask two', [mcp('one'), mcp('two')])
    const events = await streamed('ask two', [mcp('one'), mcp('two')])
    for (const { output } of [whole, endOf(events)]) {
      expect(output.map((item) => [item.type, 'server_label' in item ? item.server_label : ''])).toEqual([
        ['mcp_list_tools', 'one'],
        ['mcp_list_tools', 'two'],
        ['mcp_call', 'two'],
        ['message', ''],
      ])
      expect(output[2]).toMatchObject({ name: 'echo', status: 'completed', error: null, output: 'from two' })
    }
    expect(whole.output_text).toBe('It is from two.')
  })

  test('stream their lists, and calls with their arguments, before the text', async () => {
    const events = await streamed('ask one', [mcp('one')])
    const types = events.map(({ type }) => type)
    const order = [
      'response.created',
      'response.mcp_list_tools.in_progress',
      'response.mcp_list_tools.completed',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.completed',
    ] as const
    const places = order.map((type) => types.indexOf(type))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(places).not.toContain(-1)
  })

  test.each([create, async (...args: Parameters<typeof create>) => endOf(await streamed(...args))])(
    'of requests at the same time stay apart (%#)',
    async (ask) => {
      const labels = ['one', 'two', 'one', 'two', 'two', 'one', 'one', 'two']
      const replies = await Promise.all(labels.map((label) => ask(`ask ${label}`, [mcp(label)])))
      const seen = replies.map(({ output }) => output.flatMap((item) => ('server_label' in item ? [item.server_label] : [])))
      expect(seen).toEqual(labels.map((label) => [label, label]))
    },
  )

  test('stand beside a function of the caller, whose call ends the reply', async () => {
    const tools = [mcp('one'), own('diagnose')]
    const { output } = await create('diagnostics', tools)
    expect(output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'function_call'])
    const types = (await streamed('diagnostics', tools)).map(({ type }) => type)
    for (const type of ['response.mcp_list_tools.completed', 'response.function_call_arguments.done'] as const)
      expect(types).toContain(type)
  })

  test.each<object>([
    { type: 'function', name: 'local_search' },
    { type: 'function', function: { name: 'local_search' } },
  ])('give way to the function that tool_choice %j names', async (tool_choice) => {
    const { output } = await create('Search', [mcp('one'), own('local_search')], { tool_choice })
    expect(output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'function_call'])
  })
})

test.each(['die', 'flood', 'line', 'wrong', 'liar'])(
  'that an MCP server misbehaves (%s) reaches the model, and the reply and the next call end well',
  async (how) => {
    const { status, output, output_text } = await create(`bad ${how}`, [mcp('one')])
    expect([status, output_text]).toEqual(['completed', 'It failed.'])
    expect(output[1]).toMatchObject({ type: 'mcp_call', status: 'failed', output: null, error: expect.anything() })
    expect((await create('ask one', [mcp('one')])).output_text).toBe('It is from one.')
  },
)

const hosted = [
  ['web_search_preview', 'tides', 'web_search_call', 'searching', /^ws_/],
  ['web_search', 'tides', 'web_search_call', 'searching', /^ws_/],
  ...(hasSandbox ? [['code_interpreter', 'sum', 'code_interpreter_call', 'interpreting', /^ci_/] as const] : []),
] as const

describe.each(hosted)(`a required call of %s${sandboxHint}`, (type, input, itemType, state, id) => {
  const tool = type === 'code_interpreter' ? { type, container: { type: 'auto' } } : { type }
  const tools = [tool as OpenAI.Responses.Tool]
  const tool_choice = { type }

  test('is an item of its own kind, and not one of an MCP server', async () => {
    const whole = await create(input, tools, { tool_choice })
    for (const response of [whole, endOf(await streamed(input, tools, { tool_choice }))]) {
      expect(response.output.map((item) => item.type)).toEqual([itemType, 'message'])
      expect(response.output[0]).toMatchObject({ id: expect.stringMatching(id), status: 'completed' })
      for (const foreign of ['arguments', 'output']) expect(response.output[0]).not.toHaveProperty(foreign)
      expect(response.tools.map((declared) => declared.type)).toEqual([type])
    }
    expect(whole.error).toBeNull()
  })

  test('streams its states in order, each once', async () => {
    const events = await streamed(input, tools, { tool_choice })
    const types = events.map((event) => event.type as string)
    const ofItem = (name: string) =>
      events.findIndex((event) => event.type === name && 'item' in event && event.item.type === itemType)
    const states = ['in_progress', state, 'completed'].map((each) => types.indexOf(`response.${itemType}.${each}`))
    const places = [0, ofItem('response.output_item.added'), ...states, ofItem('response.output_item.done'), types.length - 1]
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(places).not.toContain(-1)
    expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed'])
    for (const name of new Set(types.filter((each) => each.includes(`${itemType}.`))))
      expect([name, types.filter((each) => each === name)]).toEqual([name, [name]])
  })
})
