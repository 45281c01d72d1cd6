import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** What is said about the upgrade only. */
const upgradeHeaders = new Set(['upgrade', 'http2-settings', 'connection'])

/**
 * Serves a request as if it did not ask for an upgrade, which servers may ignore: clients that can do without, such as Java's and curl's,
 * ask for HTTP/2 in this way. Node has taken the socket from its HTTP server by then, and gives it back with the request as it was.
 */
export function readAsPlainRequest(
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!upgradeHeaders.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}
