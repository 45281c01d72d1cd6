import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import { AppError } from '../../contract/errors.ts'
import type { ServerDeps } from '../../http/run/deps.ts'
import { createServer } from '../../http/server.ts'
import { listen } from './listen.ts'
import { openPageFiles } from './page-files.ts'
import { listenToo } from './second-port.ts'

/** The HTTP server as the configuration has it, not listening yet. */
export function openServing({ server: settings }: Pick<LoadedConfig, 'server'>, deps: ServerDeps) {
  const page = settings.page === 'on' ? openPageFiles() : undefined
  const server = createServer({
    ...deps,
    reasoningFields: settings.reasoningFields,
    usageTimes: settings.usageTimes,
    basePath: settings.basePath,
    debugs: settings.debug === 'on',
    ...(page !== undefined && { page }),
    streaming: settings.streaming,
    bodyLimitBytes: settings.bodyLimitBytes,
    totalBodyLimitBytes: settings.totalBodyLimitBytes,
  })
  let closeSecond: () => void = () => undefined
  let isClosed = false
  return {
    server,
    /** Resolves with the address. Rejects with `shutting-down` after `close`. */
    async listen(log: Logger): Promise<string> {
      if (isClosed) throw new AppError('shutting-down', 'this server was closed; create another one')
      const url = await listen(server.app, settings, log)
      const { host, ollamaPort: port } = settings
      if (port !== undefined) closeSecond = await listenToo(server.app.server, { host, port, setting: 'server.ollamaPort' })
      return url + settings.basePath
    },
    /** Finishes running requests within a grace period. */
    async close({ shutdownGraceMs, drainDelayMs }: LoadedConfig['server']): Promise<void> {
      isClosed = true
      await server.drain(shutdownGraceMs, drainDelayMs)
      closeSecond()
    },
  }
}
