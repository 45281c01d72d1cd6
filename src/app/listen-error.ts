import { AppError } from '../contract/errors.ts'

/** What the operating system says when an address cannot be listened on, as one line with advice; other errors as they are. */
export function explainListenError(error: unknown, { host, port }: { host: string; port: number }): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error
  const explain = (message: string) => new AppError('invalid-request', message, { cause: error })
  switch (error.code) {
    case 'EADDRINUSE':
      return explain(`port ${port} on ${host} is in use: a server may already run there; stop it, or choose another with --port`)
    case 'EACCES':
      return explain(`this user may not listen on port ${port} of ${host}; choose a port above 1023 with --port`)
    case 'EADDRNOTAVAIL':
      return explain(`${host} is no address of this machine; choose one that is with --host`)
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return explain(`the host name '${host}' cannot be looked up (${error.code}); choose another with --host`)
    default:
      return explain(`${host}, port ${port} cannot be listened on: ${error.message}; choose others with --host and --port`)
  }
}
