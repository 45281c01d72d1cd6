import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

type Changes = {
  /** The path in front of the server's own; what is not below it is not found. */
  readonly prefix?: string
  /** Changes the text of an event stream on its way. */
  readonly events?: (text: string) => string
}

/** A server in front of the one at `target`. `leave` breaks its connections, and it takes none until `comeBack`. */
export async function proxyTo(target: string, { prefix = '', events }: Changes = {}) {
  const { host, port } = new URL(target)
  let isAway = false
  const server = createServer((incoming, outgoing) => {
    if (isAway) return incoming.socket.destroy()
    const { method, headers, url = '' } = incoming
    if (!url.startsWith(`${prefix}/`)) return outgoing.writeHead(404).end()
    const path = url.slice(prefix.length)
    const passed = request({ port, method, path, headers: { ...headers, host } }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
      if (events === undefined || !path.startsWith('/api/events')) reply.pipe(outgoing)
      else reply.setEncoding('utf8').on('data', (text: string) => outgoing.write(events(text)))
    })
    outgoing.on('close', () => passed.destroy())
    return incoming.pipe(passed.on('error', () => outgoing.destroy()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leave: () => {
      isAway = true
      server.closeAllConnections()
    },
    comeBack: () => {
      isAway = false
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
