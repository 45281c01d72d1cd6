import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export type LoopbackServer = {
  /** Without a slash at its end. */
  readonly origin: string
  readonly server: Server
  /** Cuts the connections that are open. */
  close(): Promise<void>
}

/** An HTTP server on loopback, on a free port unless one is given. */
export async function listenOnLoopback(listener: RequestListener, port = 0, host = '127.0.0.1'): Promise<LoopbackServer> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return {
    origin: `http://${host}:${(server.address() as AddressInfo).port}`,
    server,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
