import type { IncomingMessage, ServerResponse } from 'node:http'
import { pathBelow, replyElsewhere, replyRead } from '../../http/base-path.ts'
import type { Server } from '../../http/server.ts'

/** Answers a request of a Node.js server; `next` gets those for paths elsewhere, and failures, as in Express. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** A handler for requests whose path is below `basePath` (`''`: any), also where Express has removed it (`app.use('/llm', handler)`). */
export function createNodeHandler({ app, answer }: Server, basePath: string): NodeHandler {
  return (request, response, next) => {
    const { method = 'GET' } = request
    const { path, query } = splitUrl(request.url)
    const below = pathBelow(basePath, path) ?? pathBelow(basePath, splitUrl(originalUrlOf(request)).path)
    if (below === undefined) {
      if (next !== undefined) return next()
      return void send(response, replyElsewhere(basePath, { method, path }))
    }
    if (request.readableDidRead) return void send(response, replyRead())
    const fail = next ?? (() => response.destroy())
    app.ready().then(() => {
      request.url = below + query
      answer(request, response)
    }, fail)
  }
}

function splitUrl(url = '/'): { readonly path: string; readonly query: string } {
  const end = url.indexOf('?')
  return end === -1 ? { path: url, query: '' } : { path: url.slice(0, end), query: url.slice(end) }
}

/** Express keeps the whole URL of a request that it passes to what is mounted at a path. */
function originalUrlOf(request: IncomingMessage): string | undefined {
  return 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : undefined
}

async function send(response: ServerResponse, reply: Response): Promise<void> {
  response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text())
}
