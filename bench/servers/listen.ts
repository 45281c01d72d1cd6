import type { Server } from 'node:http'

/** Listens on a free port of loopback and reports it to the parent. */
export function listen(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 })
  })
}
