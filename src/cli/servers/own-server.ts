import { createApp } from '../../app/create-app.ts'
import { randomHex } from '../../base/random-hex.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { createConsole } from '../terminal/console.ts'
import type { ServerAddress } from './client.ts'

/** A command's own server, in this process. */
export type OwnServer = {
  /** With a key that may use models, but change nothing. */
  readonly address: ServerAddress
  /** With a key that may do everything. */
  readonly operator: ServerAddress
  close(): Promise<void>
}

/**
 * Starts a server that lasts as long as the command, with keys of its own, since other users of this machine can reach its port. The first
 * request for a model loads it.
 */
export async function startOwnServer(config: LoadedConfig, models: readonly ConfiguredModel[]): Promise<OwnServer> {
  const { log, progress, observer } = createConsole({ level: config.log.level })
  const onDemand = models.map((model) => ({ ...model, load: 'demand' as const }))
  const storage = { ...config.storage, database: 'off' }
  const [apiKey, adminKey] = [randomHex(), randomHex()]
  const { ollamaPort: _, ...settings } = config.server
  const server = { ...settings, apiKeys: [apiKey], adminKey }
  const app = await createApp({ ...config, server, models: onDemand, storage }, { log, observer })
  const url = await app.listen()
  return {
    address: { url, apiKey },
    operator: { url, apiKey: adminKey },
    close: async () => {
      progress.end()
      await app.close()
    },
  }
}
