import { Agent, createServer, request as forward } from 'node:http'
import { listen } from './listen.ts'

/** The cost of a minimal proxy: twenty lines of node:http. */
const [, , upstream = ''] = process.argv
const agent = new Agent({ keepAlive: true, maxSockets: 2048 })
const { hostname, port } = new URL(upstream)

const server = createServer((request, response) => {
  const { method, url: path, headers } = request
  const outgoing = forward({ agent, hostname, port, method, path, headers }, (incoming) => {
    response.writeHead(incoming.statusCode ?? 502, incoming.headers)
    incoming.pipe(response)
  })
  outgoing.on('error', () => response.destroy())
  response.on('close', () => outgoing.destroy())
  request.pipe(outgoing)
})

listen(server)
