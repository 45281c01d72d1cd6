import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../../config/schema.ts'
import { explainListenError } from './listen-error.ts'

type Address = Pick<Config['server'], 'host' | 'port' | 'portFallback'>

/** The number of ports to try after one that is in use. */
const otherPorts = 20
const lastPort = 65_535

/** Listens; with `portFallback`, on the next free port if one is in use. Resolves with the address; rejects with the reason and advice. */
export async function listen(app: FastifyInstance, { host, port, portFallback }: Address, log: Logger): Promise<string> {
  const last = Math.min(lastPort, portFallback ? port + otherPorts : port)
  for (let next = port; ; next++) {
    try {
      const url = await app.listen({ host, port: next })
      if (next !== port) log.warn({ port, instead: next }, 'the port is in use: the server listens on the next free one')
      return url
    } catch (error) {
      const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
      if (!isTaken || next >= last) throw explainListenError(error, { host, port })
    }
  }
}
