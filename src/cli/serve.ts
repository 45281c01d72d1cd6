import { type App, createApp } from '../app/create-app.ts'
import { clientKey } from '../app/keys/find-keys.ts'
import { thisMachine } from '../app/offers/this-machine.ts'
import type { LoadedConfig } from '../config/load.ts'
import { type ConfigSource, openReloader } from './config-reloader.ts'
import { fetchNotice, isToy, type KeyFacts, keyNotice, pageNotice, serverTable, toyNotice, tryItNotice } from './serve-notices.ts'
import { createConsole } from './terminal/console.ts'
import { endAtSignal, stopSignal } from './terminal/stop-signal.ts'
import { tuneV8 } from './v8-flags.ts'

/**
 * Runs the server until SIGTERM or SIGINT, or until its terminal is gone, then drains and returns. The configuration is reloaded when its
 * file changes, and at SIGHUP. Standard output gets one line, `listening on URL`; everything else goes to standard error. Throws if nothing
 * is left to serve.
 */
export async function serve(config: LoadedConfig, source: ConfigSource): Promise<void> {
  tuneV8()
  const { log, progress, observer } = createConsole({ level: config.log.level })
  const onFetch = (model: string) => progress.note(fetchNotice(config, model))
  const onKey = (key: string) => progress.note(keyNotice(key))
  const onStarted = endAtSignal()
  const app = await createApp(config, { log, observer: { ...observer, onFetch }, onKey })
  const reloader = openReloader(source, { log, apply: (next) => app.reconfigure(next) })
  let isStopping = false
  onStarted()
  const stopped = stopSignal(reloader).finally(() => {
    isStopping = true
  })
  await reloader?.watch()
  const url = await app.listen()
  console.log(`listening on ${url}`)
  const settled = app.whenSettled().then(async () => {
    progress.end()
    // A stopping server has nothing to offer.
    if (isStopping) return
    // A log has an entry for each of them.
    if (process.stderr.isTTY === true) progress.note(serverTable(url, app.models, keyFacts(config, app)))
    // A model that is loaded on demand is not ready yet.
    const model = app.models.find(({ state }) => state.type === 'ready')
    if (model === undefined) return
    progress.note(tryItNotice(url, model, keyFacts(config, app)))
    if (config.server.page !== 'off') progress.note(pageNotice(url))
    if (!isToy(model.id)) return
    const toy = toyNotice(model.id, await thisMachine(config.home))
    progress.note(`${toy}\n`)
  })
  try {
    const signal = await Promise.race([stopped, settled.then(() => stopped)])
    log.info({ signal }, 'draining')
  } finally {
    progress.end()
    reloader?.close()
    await app.close()
  }
}

function keyFacts({ server }: LoadedConfig, { createdKey, requiresKey }: App): KeyFacts {
  return { createdKey, source: clientKey(server) !== undefined ? 'config' : requiresKey ? 'file' : 'none' }
}
