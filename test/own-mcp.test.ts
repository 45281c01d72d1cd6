import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, startApp, until } from './support/http/app.ts'

const keys = {
  user: 'sk-user-0123456789abcdef',
  other: 'sk-other-0123456789abcdef',
  reader: 'sk-reader-0123456789abcdef',
  limited: 'sk-limited-0123456789abcdef',
}
let app: RunningApp
const clients: Client[] = []

beforeAll(async () => {
  app = await startApp({
    storage: {},
    server: {
      apiKeys: [
        { name: 'user', key: keys.user },
        { name: 'other', key: keys.other, models: ['scripted'] },
        { name: 'reader', key: keys.reader, scopes: ['metrics'] },
        { name: 'limited', key: keys.limited, requestsPerMinute: 1 },
      ],
    },
    models: [
      { engine: 'fake', id: 'scripted', aliases: ['default'], script: 'from-request', contextLength: 4096 },
      { engine: 'fake', id: 'second', script: 'from-request' },
    ],
  })
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
})
afterAll(() => app.close())

async function connect(key: string, era: 'older' | 'newest'): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: era === 'older' ? 'legacy' : { pin: '2026-07-28' } } },
  )
  clients.push(client)
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit }))
  return client
}

const say = (content: string | object, more: object = {}) => ({
  name: 'chat',
  arguments: { messages: [{ role: 'user', content: typeof content === 'string' ? content : JSON.stringify(content) }], ...more },
})
const slow = { chunks: Array.from({ length: 2000 }, () => 'a '), delayMs: 20 }
const running = async () => {
  const reply = await fetch(`${app.url}/api/requests?state=running`, { headers: { authorization: `Bearer ${keys.user}` } })
  return ((await reply.json()) as { requests: { model: string }[] }).requests
}

describe.each(['older', 'newest'] as const)("a client of MCP's %s revision", (era) => {
  test('finds the tools, and the models that its key may use', async () => {
    const client = await connect(keys.other, era)
    expect(client.getServerVersion()).toMatchObject({ name: 'dragoman' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['chat', 'list_models', 'usage'])
    const { structuredContent } = await client.callTool({ name: 'list_models' })
    expect(structuredContent).toEqual({
      models: [expect.objectContaining({ id: 'scripted', default: true, context_length: 4096 })],
    })
  })

  test('gets the reply of the model that it names, or of the default one, and what it cost', async () => {
    const client = await connect(keys.user, era)
    expect(await client.callTool(say('Hello there', { model: 'second' }))).toMatchObject({
      content: [{ type: 'text', text: 'Hello there' }],
      _meta: { 'dragoman/reply': { model: 'second', finish_reason: 'stop', usage: { output_tokens: expect.any(Number) } } },
    })
    const { _meta } = await client.callTool(say('Hello'))
    expect(_meta).toMatchObject({ 'dragoman/reply': { model: 'scripted' } })
    const usage = async () => {
      const { structuredContent } = await client.callTool({ name: 'usage', arguments: {} })
      return (structuredContent as { usage: { key: string; model: string; requests: number }[] }).usage
    }
    await expect
      .poll(usage)
      .toContainEqual(expect.objectContaining({ key: 'user', model: 'second', requests: expect.any(Number) }))
  })

  test('hears that a call goes on, and that a reply is truncated', async () => {
    const client = await connect(keys.user, era)
    const steps: number[] = []
    const reply = await client.callTool(say('one two three four', { max_tokens: 3 }), {
      onprogress: ({ progress }) => void steps.push(progress),
    })
    expect(steps.length).toBeGreaterThan(2)
    expect(steps).toEqual(steps.map((_, index) => index + 1))
    expect(reply.content).toEqual([
      { type: 'text', text: 'one two three' },
      { type: 'text', text: '[The reply lacks its end: length, raise max_tokens]' },
    ])
  })

  test('stops the generation by a cancel of its call, and no other', async () => {
    const [client, other] = [await connect(keys.user, era), await connect(keys.user, era)]
    const stop = new AbortController()
    const stopped = client.callTool(say(slow), { signal: stop.signal }).catch((error: unknown) => error)
    const going = other.callTool(say({ chunks: Array.from({ length: 50 }, () => 'b '), delayMs: 20 }, { model: 'second' }))
    await until(async () => (await running()).length === 2)
    stop.abort()
    expect(await stopped).toBeInstanceOf(Error)
    await until(async () => !(await running()).some(({ model }) => model === 'scripted'), 5000)
    expect(await going).toMatchObject({ content: [{ text: 'b '.repeat(50) }], isError: false })
  })

  test.each<[string, { name: string; arguments: Record<string, unknown> }, RegExp]>([
    ['a model that is not there', say('Hi', { model: 'nothing' }), /'nothing'/],
    ['a field that is not there', say('Hi', { colour: 'red' }), /colour/],
    ['a wrong value', say('Hi', { max_tokens: 0 }), /max_tokens/],
    ['no messages', { name: 'chat', arguments: {} }, /messages/],
    ['a model that breaks', say({ chunks: ['a'], failAfter: 0 }), /fail/],
    ['a model that breaks later', say({ chunks: ['a ', 'b'], failAfter: 1 }), /fail/],
    ['a day that is none', { name: 'usage', arguments: { from: 'today' } }, /from/],
  ])('reads what is wrong with %s in the result of the tool', async (_, call, text) => {
    const client = await connect(keys.user, era)
    expect(await client.callTool(call)).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(text) }] })
  })

  test('is refused without a key that may generate, and within the limits of its key', async () => {
    await expect(connect('sk-wrong-0123456789abcdef', era)).rejects.toThrow()
    await expect(connect(keys.reader, era)).rejects.toThrow()
    if (era === 'newest') return
    const client = await connect(keys.limited, era)
    expect(await client.callTool(say('Hi'))).toMatchObject({ isError: false })
    expect(await client.callTool(say('Hi'))).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/limit/) }] })
  })

  test('learns of a tool that is not there', async () => {
    const client = await connect(keys.user, era)
    await expect(client.callTool({ name: 'nothing' })).rejects.toThrow(/nothing/)
  })
})

describe('without a client of the protocol', () => {
  const post = async (body: object | string, headers: Record<string, string> = {}) => {
    const reply = await fetch(`${app.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${keys.user}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await reply.text()
    return { status: reply.status, type: reply.headers.get('content-type'), body: text === '' ? undefined : JSON.parse(text) }
  }

  test('one that reads no events gets JSON', async () => {
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: say('Hi') }
    const { status, type, body } = await post(call, { accept: 'application/json' })
    expect([status, type]).toEqual([200, expect.stringContaining('application/json')])
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 7, result: { content: [{ text: 'Hi' }] } })
  })

  test('a cancel is for the call of its session, and the reply to that ends', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: say(slow) }
    const accept = 'application/json, text/event-stream'
    const calls = ['one', 'two'].map((session) => {
      const leaving = new AbortController()
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${keys.user}`,
        accept,
        'mcp-session-id': session,
      }
      const init = { method: 'POST', headers, body: JSON.stringify(call), signal: leaving.signal }
      const text = fetch(`${app.url}/mcp`, init).then((reply) => reply.text())
      return { text, leave: () => leaving.abort() }
    })
    const [first, second] = calls
    await until(async () => (await running()).length === 2)
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    expect(await post(cancel, { 'mcp-session-id': 'one', authorization: `Bearer ${keys.other}` })).toMatchObject({ status: 202 })
    expect(await running()).toHaveLength(2)
    expect(await post(cancel, { 'mcp-session-id': 'one' })).toMatchObject({ status: 202, body: undefined })
    expect(await first?.text).toContain('cancelled')
    expect(await running()).toHaveLength(1)
    second?.leave()
    await expect(second?.text).rejects.toThrow()
    await until(async () => (await running()).length === 0, 5000)
  })

  test.each<[string, object | string, number, number]>([
    ['text that is not JSON', '{', 400, -32700],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], 400, -32600],
    ['another version of JSON-RPC', { jsonrpc: '1.0', id: 1, method: 'ping' }, 400, -32600],
    ['an id that is none', { jsonrpc: '2.0', id: {}, method: 'ping' }, 400, -32600],
    ['a method that is not there', { jsonrpc: '2.0', id: 1, method: 'prompts/list' }, 200, -32601],
  ])('%s gets an error of the protocol', async (_, sent, status, code) => {
    expect(await post(sent)).toMatchObject({ status, body: { jsonrpc: '2.0', error: { code } } })
  })

  test('a revision that is not spoken is refused with those that are', async () => {
    const reply = await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-protocol-version': '2099-01-01' })
    expect(reply).toMatchObject({ status: 400, body: { id: 1, error: { code: -32022 } } })
    expect(reply.body.error.data.supported).toContain('2025-11-25')
  })

  test.each(['GET', 'DELETE'])('%s is refused with the method that is there', async (method) => {
    const reply = await fetch(`${app.url}/mcp`, { method, headers: { authorization: `Bearer ${keys.user}` } })
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST'])
  })
})
