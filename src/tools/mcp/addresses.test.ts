import { once } from 'node:events'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type McpHttpServer, type McpRequest, serveMcp } from '../../../test/support/mcp/http-server.ts'
import { privateUrls } from '../../../test/support/upstream/private-addresses.ts'
import { AppError } from '../../contract/errors.ts'
import type { Principal } from '../../contract/principal.ts'
import type { JsonObject, McpServerUse } from '../../contract/request.ts'
import type { ServerTool, ToolOutcome, ToolSource } from '../../contract/server-tool.ts'
import { parseBlock } from '../../media/address.ts'
import { createMcpTools, type McpToolsOptions } from './mcp-tools.ts'

/** Servers of requests may be at one address of this machine, and not at the other. */
const allowedHost = '127.0.0.2'
const forbiddenHost = '127.0.0.1'
const allowed = [parseBlock(allowedHost)].filter((block) => block !== undefined)
const principal: Principal = { id: 'k', scopes: new Set(['inference', 'tools']) }

let server: McpHttpServer
let source: ToolSource | undefined
let request: AbortController

beforeEach(async () => {
  server = await serveMcp(allowedHost)
  request = new AbortController()
})

afterEach(async () => {
  await source?.close()
  source = undefined
  server.close()
})

function configure(headers: Record<string, string> = {}, options: Partial<McpToolsOptions> = {}): ToolSource {
  const target = { type: 'url' as const, url: server.url, headers }
  const servers = new Map([['docs', { target, needsApproval: false }]])
  source = createMcpTools({ servers, allowedHosts: [], guard: { allowed: [] }, limits: { answerMs: 5000 }, ...options })
  return source
}

function forRequests(allowedHosts: readonly string[] = [allowedHost]): ToolSource {
  source = createMcpTools({ servers: new Map(), allowedHosts, guard: { allowed }, limits: { answerMs: 5000 } })
  return source
}

const ask = (from: ToolSource, mcpServers: readonly McpServerUse[] = [], who = principal) =>
  Promise.resolve(from.list({ principal: who, names: ['docs', 'old'], mcpServers, signal: request.signal }))

function run(tool: ServerTool | undefined, args: JsonObject = {}, signal = request.signal): Promise<ToolOutcome> {
  if (tool === undefined) throw new Error('there is no tool')
  return tool.run({ arguments: args, session: { principalId: 'k', id: 's' }, signal })
}

const events = ({ response }: McpRequest) => response.writeHead(200, { 'content-type': 'text/event-stream' })
const event = (message: unknown) => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...(message as object) })}\n\n`

describe('a server of the configuration', () => {
  test('a configured server is asked for its tools once, with its token, and called', async () => {
    configure({ authorization: 'Bearer secret' })
    const [listing] = await Promise.all([ask(configure({ authorization: 'Bearer secret' })), undefined])
    expect(listing.tools.map(({ name }) => name)).toEqual(['docs__echo'])
    expect(await run(listing.tools[0], { text: 'x' })).toEqual({ text: 'echo: {"text":"x"}', isError: false })
    if (source !== undefined) await ask(source)
    expect(server.messages.filter(({ method }) => method === 'tools/list')).toHaveLength(1)
    for (const { headers } of server.requests) expect(headers.authorization).toBe('Bearer secret')
  })

  test('a configured server that answers with events is read, too', async () => {
    server.handle['tools/call'] = (call) =>
      void events(call).end(
        event({ method: 'notifications/message', params: { level: 'info', data: 'working' } }) +
          event({ id: call.message.id, result: { content: [{ type: 'text', text: 'done' }] } }),
      )
    const { tools } = await ask(configure())
    expect(await run(tools[0])).toEqual({ text: 'done', isError: false })
  })

  test.each<[string, (request: McpRequest) => void, RegExp]>([
    [
      'refuses the token',
      ({ response }) => response.writeHead(401).end(),
      /it answered with status 401: it needs a valid token$/,
    ],
    ['is broken', ({ response }) => response.writeHead(500).end('stack trace'), /it answered with status 500$/],
    ['leads elsewhere', ({ response }) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(), /it /],
    ['hangs up', ({ request: { socket } }) => socket.destroy(), /it cannot be reached/],
    ['streams without end', (asked) => void pour(events(asked)), /it (did not answer|sent more than 8 MiB)/],
    ['is silent', () => undefined, /it did not answer/],
  ])('a configured server that %s is absent with that reason, and not asked again', async (how, handler, why) => {
    server.handle['server/discover'] = handler
    server.handle.initialize = handler
    const from = configure({}, { limits: { answerMs: how === 'is silent' || how === 'streams without end' ? 1000 : 20_000 } })
    const { tools, absent } = await ask(from)
    expect([tools, absent]).toEqual([[], [{ name: 'docs', why: expect.stringMatching(why) }]])
    const asked = server.requests.length
    expect((await ask(from)).absent).toEqual(absent)
    expect(server.requests).toHaveLength(asked)
  })

  test('a configured server that fails is reported once, until it is asked again', async () => {
    server.handle.initialize = ({ response }) => response.writeHead(500).end()
    const reports: string[] = []
    const onFailure = (label: string, why: string) => reports.push(`${label}: ${why}`)
    const from = configure({}, { onFailure })
    for (let times = 0; times < 3; times += 1) await ask(from)
    expect(reports).toEqual(['docs: it answered with status 500'])
  })

  test('a configured server where nothing listens is absent with that reason', async () => {
    server.close()
    const { absent } = await ask(configure())
    expect(absent[0]?.why).toContain('it cannot be reached (ECONNREFUSED)')
  })

  test('a configured server at a port that browsers refuse is absent with that reason', async () => {
    const target = { type: 'url' as const, url: 'http://127.0.0.1:9/', headers: {} }
    const { absent } = await ask(configure({}, { servers: new Map([['docs', { target, needsApproval: false }]]) }))
    expect(absent[0]?.why).toBe('the MCP server cannot be used: bad port')
  })

  test.each<[string, (request: McpRequest) => void, RegExp]>([
    ['streams without end', (call) => void pour(events(call)), /it sent more than 8 MiB/],
    [
      'answers without end',
      ({ response }) => void pour(response.setHeader('content-type', 'application/json')),
      /it sent more than 8 MiB/,
    ],
    [
      'ends its stream without an answer',
      (call) => void events(call).end(': nothing\n\n'),
      /it ended its reply without an answer/,
    ],
    ['breaks off', (call) => events(call).write(': x\n\n', () => call.request.socket.destroy()), /it /],
    [
      'has an error',
      ({ response, message: { id } }) =>
        void response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'out of\norder' } })),
      /it answered with an error: out of order/,
    ],
    ['sends what is not MCP', ({ answer }) => answer({ content: 'text' }), /it sent a reply that is not valid MCP/],
    ['is not where it was', ({ response }) => void response.writeHead(404).end(), /it answered with status 404/],
  ])(
    'a configured server that %s during a call is reported to the model, and the next call is answered',
    async (_, handler, text) => {
      const good = server.handle['tools/call']
      const { tools } = await ask(configure())
      server.handle['tools/call'] = handler
      const outcome = await run(tools[0])
      expect(outcome).toMatchObject({
        isError: true,
        advice: expect.any(String),
        text: expect.stringMatching(/^The tool failed: /),
      })
      expect(outcome.text).toMatch(text)
      if (good !== undefined) server.handle['tools/call'] = good
      expect(await run(tools[0], { text: 'again' })).toMatchObject({ text: expect.stringContaining('again') })
    },
  )

  test('a configured server that has forgotten the session gets a new one, and the call', async () => {
    const known = new Set<unknown>()
    const { initialize, 'tools/call': answer } = server.handle
    server.handle.initialize = (asked) => {
      known.add(`s${known.size}`)
      asked.response.setHeader('mcp-session-id', `s${known.size - 1}`)
      initialize?.(asked)
    }
    server.handle['tools/call'] = (asked) => {
      if (known.has(asked.request.headers['mcp-session-id'])) answer?.(asked)
      else asked.response.writeHead(404).end()
    }
    const { tools } = await ask(configure())
    known.clear()
    known.add('another')
    expect(await run(tools[0], { text: 'x' })).toEqual({ text: 'echo: {"text":"x"}', isError: false })
    expect(server.messages.filter(({ method }) => method === 'initialize')).toHaveLength(2)
    const cancel = new AbortController()
    known.clear()
    server.handle.initialize = () => cancel.abort()
    expect(await run(tools[0], {}, cancel.signal)).toEqual({ text: 'The call was cancelled.', isError: true })
  })

  test('a configured server learns of a cancel, and the connection of the call is closed', async () => {
    const { tools } = await ask(configure())
    const called = new Promise<McpRequest>((resolve) => {
      server.handle['tools/call'] = (call) => {
        events(call).write(': wait\n\n')
        resolve(call)
      }
    })
    const cancel = new AbortController()
    const running = run(tools[0], {}, cancel.signal)
    const { request: asked, message } = await called
    const closed = once(asked.socket, 'close')
    cancel.abort()
    expect(await running).toEqual({
      text: 'The call was cancelled. The call may still have been carried out.',
      isError: true,
    })
    await closed
    await expect
      .poll(() => server.messages)
      .toContainEqual(
        expect.objectContaining({
          method: 'notifications/cancelled',
          params: expect.objectContaining({ requestId: message.id }),
        }),
      )
  })
})

describe('a server of the older transport, with events on one stream', () => {
  test('is found by its answer to the newer one', async () => {
    const { createServer } = await import('node:http')
    let stream: import('node:http').ServerResponse | undefined
    const older = createServer(async (asked, response) => {
      if (asked.method === 'GET') {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
        stream.write('event: endpoint\ndata: /messages\n\n')
        return
      }
      if (asked.url !== '/messages') return void response.writeHead(404).end()
      let body = ''
      for await (const piece of asked) body += piece
      response.writeHead(202).end('Accepted')
      const { id, method, params } = JSON.parse(body)
      const results: Record<string, unknown> = {
        initialize: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'o', version: '1' },
        },
        'tools/list': {
          tools: [
            { name: 'old', inputSchema: { type: 'object' } },
            { name: 'end', inputSchema: { type: 'object' } },
          ],
        },
        'tools/call': { content: [{ type: 'text', text: 'from the older one' }] },
      }
      if (params?.name === 'end') stream?.end()
      else if (id !== undefined) stream?.write(event({ id, result: results[method] }))
    })
    older.listen(0, allowedHost)
    await once(older, 'listening')
    const url = `http://${allowedHost}:${(older.address() as import('node:net').AddressInfo).port}/sse`
    const servers = new Map([['old', { target: { type: 'url' as const, url, headers: {} }, needsApproval: false }]])
    source = createMcpTools({ servers, allowedHosts: [], guard: { allowed: [] } })
    const { tools } = await ask(source)
    expect(tools.map(({ name }) => name)).toEqual(['old__old', 'old__end'])
    expect(await run(tools[0])).toEqual({ text: 'from the older one', isError: false })
    const lost = 'The tool failed: it ended the stream. The call may still have been carried out.'
    expect(await run(tools[1])).toMatchObject({ text: lost, isError: true })
    expect(await run(tools[0])).toEqual({ text: 'from the older one', isError: false })
    older.close()
    older.closeAllConnections()
  })
})

describe('a server of a request', () => {
  const own = (fields: Partial<McpServerUse> = {}): McpServerUse => ({ label: 'own', url: server.url, ...fields })

  test('a server of a request is connected to with its headers, and every connection ends with the request', async () => {
    const listing = await ask(forRequests(), [own({ headers: { authorization: 'Bearer theirs' } })])
    expect(listing.tools.map(({ name, mcp }) => [name, mcp])).toEqual([['own__echo', { server: 'own', name: 'echo' }]])
    expect(await run(listing.tools[0], { text: 'x' })).toMatchObject({ isError: false })
    for (const { headers } of server.requests) expect(headers.authorization).toBe('Bearer theirs')
    await listing.end?.()
    await expect.poll(() => server.sockets.size).toBe(0)
  })

  test('a server of a request ends with a request that is cancelled', async () => {
    await ask(forRequests(), [own()])
    expect(server.sockets.size).toBeGreaterThan(0)
    request.abort()
    await expect.poll(() => server.sockets.size).toBe(0)
  })

  test.each<[string, Partial<McpServerUse>, readonly string[], RegExp]>([
    ['nowhere, by default', {}, [], /tools\.allowRequestServers/],
    ['at a host that is not allowed', {}, ['example.com'], /host that this server does not ask \(tools\.allowRequestServers\)/],
    ['below a host whose name only ends so', { url: 'http://notexample.com/' }, ['example.com'], /does not ask/],
    ['of another scheme', { url: 'file:///etc/passwd' }, ['example.com'], /scheme/],
    ['with credentials', { url: 'http://u:p@example.com/' }, ['example.com'], /credentials/],
    ['without a proper name', { label: 'a__b' }, [allowedHost], /use at most 32 letters/],
  ])('a server of a request is refused %s, before anything is asked', async (_, fields, hosts, message) => {
    const error = await ask(forRequests(hosts), [own(fields)]).catch((refused: unknown) => refused)
    expect(error).toBeInstanceOf(AppError)
    expect(error).toMatchObject({ code: 'invalid-request', at: expect.arrayContaining(['toolUse', 'mcpServers', 0]) })
    expect((error as AppError).message).toMatch(message)
    expect(server.requests).toEqual([])
  })

  test('a server of a request is refused under the name of one of the configuration, and for keys that may use only some tools', async () => {
    const both = configure({}, { allowedHosts: [allowedHost] })
    await expect(ask(both, [own({ label: 'docs' })])).rejects.toThrow('the name of a server of the configuration')
    await expect(ask(both, [own()], { ...principal, tools: ['docs', 'own'] })).rejects.toThrow(
      'may only use tools by their names',
    )
    expect(server.requests).toEqual([])
  })

  test.each(privateUrls.filter((url) => /^https?:\/\//i.test(url)))(
    'a server of a request is not asked at %j',
    async (spelling) => {
      const inside = await serveMcp(forbiddenHost)
      const url = spelling.replaceAll('PORT', new URL(inside.url).port)
      const hosts = URL.canParse(url) ? [new URL(url).hostname.replace(/\.$/, '')] : [forbiddenHost]
      const result = await ask(forRequests(hosts), [own({ url })]).catch((error: unknown) => error)
      inside.close()
      expect(result).toBeInstanceOf(AppError)
      expect(result).toMatchObject({ code: 'invalid-request', at: ['toolUse', 'mcpServers', 0, 'url'] })
      expect(inside.sockets.size + inside.requests.length).toBe(0)
    },
  )

  test('a server of a request with a port that is never asked is refused', async () => {
    const port = { code: 'invalid-request', message: expect.stringContaining('has a port that is not asked') }
    await expect(ask(forRequests(), [own({ url: `http://${allowedHost}:9/` })])).rejects.toMatchObject(port)
  })

  test('a server of a request where nothing listens is absent', async () => {
    server.close()
    const { absent } = await ask(forRequests(), [own()])
    expect(absent[0]?.why).toContain('it cannot be reached (ECONNREFUSED)')
  })

  test('a server of a request is not followed to where it redirects', async () => {
    const inside = await serveMcp(forbiddenHost)
    const elsewhere = ({ response }: McpRequest) => void response.writeHead(307, { location: inside.url }).end()
    server.handle.initialize = elsewhere
    server.handle['server/discover'] = elsewhere
    const { tools } = await ask(forRequests(), [own()])
    inside.close()
    expect([tools, inside.requests.length]).toEqual([[], 0])
  })
})

/** Sends as long as it is taken. */
function pour(response: import('node:http').ServerResponse): void {
  Readable.from(
    (function* () {
      for (;;) yield `data: ${'x'.repeat(100_000)}\n`
    })(),
  ).pipe(response)
}
