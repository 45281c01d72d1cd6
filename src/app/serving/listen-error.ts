import { AppError } from '../../contract/errors.ts'

type Address = {
  readonly host: string
  readonly port: number
  /** What chooses the port. */
  readonly setting?: string
}

/** Explains an operating system error about a listening address in one line with advice; returns other errors unchanged. */
export function explainListenError(error: unknown, { host, port, setting = '--port' }: Address): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const explain = (message: string) => new AppError('invalid-request', message, { cause: error })
  switch (error.code) {
    case 'EADDRINUSE':
      return explain(`port ${port} on ${host} is in use; stop the server that uses it, or choose another port with ${setting}`)
    case 'EACCES':
      return explain(`this user has no permission to listen on port ${port} of ${host}; choose a port above 1023 with ${setting}`)
    case 'EADDRNOTAVAIL':
      return explain(`${host} is not an address of this machine; choose another with --host`)
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return explain(`the host name '${host}' cannot be resolved (${error.code}); choose another with --host`)
    default:
      return explain(
        `cannot listen on port ${port} of ${host}: ${error.message}; choose another address with --host or ${setting}`,
      )
  }
}
