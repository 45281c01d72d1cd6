import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type McpHttpServer, type McpRequest, serveMcp } from '../../../test/support/mcp/http-server.ts'
import type { ServerTool, ToolListing, ToolOutcome, ToolSource } from '../../contract/server-tool.ts'
import { createMcpFetch } from './mcp-fetch.ts'
import { createMcpTools } from './mcp-tools.ts'

let server: McpHttpServer
let source: ToolSource
let request: AbortController

beforeEach(async () => {
  server = await serveMcp('127.0.0.1')
  request = new AbortController()
  const target = { type: 'url' as const, url: server.url, headers: {} }
  source = createMcpTools({
    servers: new Map([['docs', { target, needsApproval: false }]]),
    allowedHosts: [],
    guard: { allowed: [] },
    limits: { answerMs: 5000 },
  })
})

afterEach(async () => {
  await source.close()
  server.close()
})

async function list(): Promise<ToolListing> {
  return source.list({
    principal: { id: 'k', scopes: new Set(['tools']) },
    names: ['docs'],
    mcpServers: [],
    signal: request.signal,
  })
}

async function call(signal = request.signal): Promise<ToolOutcome> {
  const [tool] = (await list()).tools
  return (tool as ServerTool).run({ arguments: {}, session: { principalId: 'k', id: 's' }, signal })
}

const calls = () => server.messages.filter(({ method }) => method === 'tools/call').length
const events = ({ response }: McpRequest) => response.writeHead(200, { 'content-type': 'text/event-stream' })
const first = 'id: first\nretry: 120\ndata: \n\n'
const answer = (id: unknown) =>
  `id: last\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } })}\n\n`

/** Closes the reply to a call to be resumed; the requests that resume it are handled in turn, the last handler again and again. */
function closeReply(...handlers: readonly ((asked: McpRequest, callId: unknown) => void)[]): { readonly lastIds: unknown[] } {
  const lastIds: unknown[] = []
  let callId: unknown
  server.handle['tools/call'] = (asked) => {
    callId = asked.message.id
    events(asked).end(first)
  }
  server.handle.GET = (asked) => {
    const id = asked.request.headers['last-event-id']
    // The stream of the session.
    if (id === undefined) return void asked.response.writeHead(405).end()
    lastIds.push(id)
    handlers[Math.min(lastIds.length, handlers.length) - 1]?.(asked, callId)
  }
  return { lastIds }
}

describe('a reply that the server closes', () => {
  test('the reply is resumed after its newest event, when the server wants it', async () => {
    const { lastIds } = closeReply((asked, id) => events(asked).end(answer(id)))
    const startedAtMs = performance.now()
    expect(await call()).toEqual({ text: 'done', isError: false })
    // The contract of `retry`.
    expect(performance.now() - startedAtMs).toBeGreaterThan(110)
    expect([lastIds, calls()]).toEqual([['first'], 1])
  })

  test('the reply is resumed again and again, also when nothing new came', async () => {
    const { lastIds } = closeReply(
      (asked) => events(asked).end(': wait\n\n'),
      (asked) => events(asked).end('id: second\ndata: \n\n'),
      (asked, id) => events(asked).end(answer(id)),
    )
    expect(await call()).toEqual({ text: 'done', isError: false })
    expect([lastIds, calls()]).toEqual([['first', 'first', 'second'], 1])
  })

  test.each<[string, (asked: McpRequest) => void, string, number]>([
    [
      'refused',
      ({ response }) => void response.writeHead(404).end(),
      'it ended its reply, and refused the rest with status 404',
      1,
    ],
    [
      'broken',
      ({ response }) => void response.writeHead(500).end(),
      'it ended its reply, and could not be asked for the rest',
      5,
    ],
    ['a page', ({ response }) => void response.end('Welcome'), 'it ended its reply, and had no rest of it', 1],
    ['too long', (asked) => void events(asked).end(`id: x\ndata: ${'x'.repeat(3e6)}\n\n`), 'it sent more than 8 MiB', 3],
  ])('and whose rest is %s is a failure of which the model hears that the call may have run', async (_, handler, why, times) => {
    const { lastIds } = closeReply(handler)
    expect(await call()).toMatchObject({
      text: `The tool failed: ${why}. The call may still have been carried out.`,
      advice: expect.stringMatching(/^Find out whether it was before/),
    })
    expect([lastIds.length, calls()]).toEqual([times, 1])
  })

  test('the reply is not resumed for a call that is cancelled', async () => {
    const cancel = new AbortController()
    const { lastIds } = closeReply((asked) => void events(asked).write('id: second\ndata: \n\n', () => cancel.abort()))
    expect(await call(cancel.signal)).toEqual({
      text: 'The call was cancelled. The call may still have been carried out.',
      isError: true,
    })
    expect([lastIds, calls()]).toEqual([['first'], 1])
  })

  test('the reply is resumed for a list of tools, too', async () => {
    let listId: unknown
    server.handle['tools/list'] = (asked) => {
      listId = asked.message.id
      events(asked).end(first)
    }
    server.handle.GET = (asked) => {
      if (asked.request.headers['last-event-id'] === undefined) return void asked.response.writeHead(405).end()
      const result = { tools: [{ name: 'late', inputSchema: { type: 'object' } }] }
      events(asked).end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: listId, result })}\n\n`)
    }
    expect((await list()).tools.map(({ name }) => name)).toEqual(['docs__late'])
  })
})

test('the stream of a session is opened again, and a changed list is read', async () => {
  let name = 'before'
  let opened = 0
  const { initialize } = server.handle
  server.handle.initialize = (asked) =>
    initialize?.({
      ...asked,
      answer: (result) => asked.answer({ ...(result as object), capabilities: { tools: { listChanged: true } } }),
    })
  server.handle['tools/list'] = ({ answer: reply }) => reply({ tools: [{ name, inputSchema: { type: 'object' } }] })
  server.handle.GET = (asked) => {
    opened += 1
    if (opened === 1) return void events(asked).end(first)
    name = 'after'
    events(asked).write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`)
  }
  await expect.poll(async () => (await list()).tools.map((tool) => tool.name)).toEqual(['docs__after'])
})

test('a page in the place of the stream of a session is not asked for again and again', async () => {
  server.handle.GET = ({ response }) => void response.setHeader('content-type', 'text/html').end('Welcome')
  const { fetch, close } = createMcpFetch({ resumes: true, onStreamEnd: () => undefined })
  // As servers without such a stream answer.
  expect((await fetch(server.url, { method: 'GET' })).status).toBe(405)
  await close()
})
