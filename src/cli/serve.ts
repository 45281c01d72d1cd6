import { type App, createApp } from '../app/create-app.ts'
import { clientKey } from '../app/find-keys.ts'
import type { LoadedConfig } from '../config/load.ts'
import { availableMemoryBytes } from '../registry/memory.ts'
import { createConsole } from './console.ts'
import { fetchNotice, type KeyFacts, keyNotice, toyNotice, tryItNotice } from './serve-notices.ts'

/**
 * Runs the server until SIGTERM, SIGINT or SIGHUP, then drains and returns. Standard output gets one line, `listening on URL`;
 * everything else goes to standard error. Throws when nothing is left to serve.
 */
export async function serve(config: LoadedConfig): Promise<void> {
  const { log, progress, observer } = createConsole({ level: config.log.level })
  const onFetch = (model: string) => progress.note(fetchNotice(config, model))
  const app = await createApp(config, { log, observer: { ...observer, onFetch } })
  const stopped = stopSignal()
  if (app.createdKey !== undefined) progress.note(keyNotice(app.createdKey))
  const url = await app.listen()
  console.log(`listening on ${url}`)
  const settled = app.whenSettled().then(() => {
    progress.end()
    // A model that is loaded on demand is not ready yet.
    const model = app.models.find(({ state }) => state.type === 'ready')
    if (model === undefined) return
    progress.note(tryItNotice(url, model, keyFacts(config, app)))
    const toy = toyNotice(model.id, availableMemoryBytes())
    if (toy !== undefined) progress.note(`${toy}\n`)
  })
  try {
    const signal = await Promise.race([stopped, settled.then(() => stopped)])
    log.info({ signal }, 'draining')
  } finally {
    progress.end()
    await app.close()
  }
}

function keyFacts({ server }: LoadedConfig, { createdKey, requiresKey }: App): KeyFacts {
  return { createdKey, source: clientKey(server) !== undefined ? 'config' : requiresKey ? 'file' : 'none' }
}

/** One Ctrl-C can arrive several times: from the terminal's process group, from npm, from a service manager. */
const sameSignalMs = 1000

/** Resolves with the first stop signal. Another one after more than a second ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstMs === undefined) {
        firstMs = performance.now()
        resolve(signal)
      } else if (performance.now() - firstMs > sameSignalMs) process.exit(1)
    }
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal)
    // After SIGHUP the terminal is gone; what is written to it fails, and that must not end the replies that still run.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  })
}
