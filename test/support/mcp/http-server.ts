import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export type McpMessage = { readonly id?: number; readonly method: string; readonly params?: Record<string, unknown> }

export type McpRequest = {
  readonly message: McpMessage
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Answers as JSON. */
  answer(result: unknown): void
}

/** A server over Streamable HTTP in its simplest form, whose methods a test replaces, `GET` of HTTP included. */
export type McpHttpServer = {
  readonly url: string
  readonly messages: readonly McpMessage[]
  readonly requests: readonly IncomingMessage[]
  readonly sockets: ReadonlySet<Socket>
  handle: Record<string, (request: McpRequest) => void>
  close(): void
}

const tools = [
  { name: 'echo', description: 'Repeats a text.', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
]

export async function serveMcp(host: string): Promise<McpHttpServer> {
  const messages: McpMessage[] = []
  const requests: IncomingMessage[] = []
  const sockets = new Set<Socket>()
  const handle: McpHttpServer['handle'] = {
    initialize: ({ message, answer }) =>
      answer({
        protocolVersion: message.params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'test', version: '1' },
      }),
    'tools/list': ({ answer }) => answer({ tools }),
    'tools/call': ({ message, answer }) =>
      answer({ content: [{ type: 'text', text: `echo: ${JSON.stringify(message.params?.arguments)}` }] }),
  }
  const server = createServer(async (request, response) => {
    requests.push(request)
    if (request.method !== 'POST') {
      const onGet = handle.GET ?? (() => void response.writeHead(405).end())
      return onGet({ message: { method: 'GET' }, request, response, answer: () => undefined })
    }
    let body = ''
    for await (const piece of request) body += piece
    const message = JSON.parse(body) as McpMessage
    messages.push(message)
    const answer = (result: unknown) =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
    const handler = handle[message.method]
    if (handler !== undefined) return handler({ message, request, response, answer })
    if (message.id === undefined) return void response.writeHead(202).end()
    const error = { code: -32601, message: 'Method not found' }
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }))
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, host)
  await once(server, 'listening')
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}/mcp`,
    messages,
    requests,
    sockets,
    handle,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
