import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { createServer } from 'node:net'
import { explainListenError } from './listen-error.ts'

type Address = { readonly host: string; readonly port: number; readonly setting: string }

/** Also accepts connections for the server on another port. Resolves with a function that closes it. */
export async function listenToo(server: HttpServer, { host, port, setting }: Address): Promise<() => void> {
  // As Node opens the listener of an HTTP server.
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void server.emit('connection', socket))
  listener.listen(port, host)
  try {
    await once(listener, 'listening')
  } catch (error) {
    throw explainListenError(error, { host, port, setting })
  }
  return () => void listener.close()
}
