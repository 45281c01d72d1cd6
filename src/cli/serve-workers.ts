import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkKeysRemain, findKeys } from '../app/keys/find-keys.ts'
import { checkPresets } from '../app/state/live-config.ts'
import { withMadeKeys } from '../app/state/with-made-keys.ts'
import { bundleOf } from '../bundles/bundle-of.ts'
import { withoutRestart } from '../config/changed-settings.ts'
import type { LoadedConfig } from '../config/load.ts'
import { findUnshared } from '../config/workers.ts'
import { AppError } from '../contract/errors.ts'
import { MinuteCounter } from '../quota/minute-counter.ts'
import { PrimaryState } from '../workers/primary-state.ts'
import { WorkerPool } from '../workers/worker-pool.ts'
import { type ConfigSource, openReloader } from './config-reloader.ts'
import { keyNotice } from './serve-notices.ts'
import { createConsole } from './terminal/console.ts'
import { stopSignal } from './terminal/stop-signal.ts'
import { startFlags } from './v8-flags.ts'

/** As `serve`, with several processes that answer requests; this one accepts their connections, and counts what they share. */
export async function serveWorkers(config: LoadedConfig, source: ConfigSource): Promise<void> {
  const { log, progress } = createConsole({ level: config.log.level })
  const primary = new PrimaryState(new MinuteCounter())
  // From sources (tests, development) a worker is TypeScript; built, it is JavaScript.
  const extension = extname(fileURLToPath(import.meta.url))
  const pool = new WorkerPool({
    module: fileURLToPath(bundleOf('server-worker') ?? new URL(`./worker${extension}`, import.meta.url)),
    execArgv: extension === '.ts' ? ['--import', 'tsx'] : [...startFlags, ...process.execArgv],
    count: config.server.workers,
    config,
    primary,
    log,
  })
  let current = config
  const reloader = openReloader(source, {
    log,
    apply: async (next) => {
      checkKeysRemain(current.server, next.server)
      checkWorkers(next, config.server.workers)
      checkPresets(next)
      current = next
      // The listening address decides whether they need keys: restarted workers are like the others.
      pool.reconfigure(next, withoutRestart(config, next))
    },
  })
  const stopped = stopSignal(reloader)
  await reloader?.watch()
  try {
    const started = pool.start().then(async (url) => {
      const createdKey = await withMadeKeys(config, log, async (made) => findKeys(config.server, made).ensureKey?.())
      if (createdKey !== undefined) progress.note(keyNotice(createdKey))
      console.log(`listening on ${url}`)
    })
    const signal = await Promise.race([stopped, started.then(() => stopped)])
    log.info({ signal }, 'draining')
    await pool.drain()
  } finally {
    reloader?.close()
    pool.kill()
  }
}

/** The number of processes stays unchanged. */
function checkWorkers({ models, listings, modelsFolder }: LoadedConfig, workers: number): void {
  const problems = findUnshared({ workers, models, listings, modelsFolder })
  if (problems.length > 0) throw new AppError('invalid-request', problems.join('\n'))
}
