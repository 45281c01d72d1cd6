import { AppError } from '../../contract/errors.ts'

type Address = {
  readonly host: string
  readonly port: number
  /** The setting of the port. */
  readonly setting?: string
}

/** Explains why a server cannot listen, in one line with advice for the terminal and for programs; returns other errors unchanged. */
export function explainListenError(error: unknown, { host, port, setting = 'server.port' }: Address): unknown {
  if (!(error instanceof Error && 'code' in error)) return error
  const explain = (message: string) => new AppError('invalid-request', message, { cause: error })
  if (error.code === 'FST_ERR_REOPENED_SERVER') return explain('this server listens already: call listen() once')
  if (!('syscall' in error)) return error
  const ofPort = setting === 'server.port' ? `${setting} or --port` : setting
  const ofHost = 'server.host or --host'
  switch (error.code) {
    case 'EADDRINUSE':
      return explain(`port ${port} on ${host} is in use; stop the server that uses it, or choose another port with ${ofPort}`)
    case 'EACCES':
      return explain(`this user has no permission to listen on port ${port} of ${host}; choose a port above 1023 with ${ofPort}`)
    case 'EADDRNOTAVAIL':
      return explain(`${host} is not an address of this machine; choose another with ${ofHost}`)
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return explain(`the host name '${host}' cannot be resolved (${error.code}); choose another with ${ofHost}`)
    default:
      return explain(
        `cannot listen on port ${port} of ${host}: ${error.message}; choose another address with ${ofHost}, or port with ${ofPort}`,
      )
  }
}
