import type { IncomingMessage, ServerResponse } from 'node:http'
import { pathBelow, replyElsewhere, replyRead } from '../../http/base-path.ts'
import type { Server } from '../../http/server.ts'

/** Answers a request of a Node.js server; `next` gets those for paths elsewhere, and failures, as in Express. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/** A handler for requests whose path is below `basePath` (`''`: any). */
export function createNodeHandler({ app, answer }: Server, basePath: string): NodeHandler {
  return (request, response, next) => {
    const { method = 'GET', url = '/' } = request
    const end = url.indexOf('?')
    const path = end === -1 ? url : url.slice(0, end)
    const below = pathBelow(basePath, path)
    if (below === undefined) {
      if (next !== undefined) return next()
      return void send(response, replyElsewhere(basePath, { method, path }))
    }
    if (request.readableDidRead) return void send(response, replyRead())
    const fail = next ?? (() => response.destroy())
    app.ready().then(() => {
      request.url = below + url.slice(path.length)
      answer(request, response)
    }, fail)
  }
}

async function send(response: ServerResponse, reply: Response): Promise<void> {
  response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text())
}
