import { createApp } from '../../app/create-app.ts'
import { clientKey } from '../../app/keys/find-keys.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { createConsole } from '../terminal/console.ts'
import type { ServerAddress } from './client.ts'

/** A server of a command, in this process. */
export type OwnServer = { readonly address: ServerAddress; close(): Promise<void> }

/** Starts a server that lasts as long as the command; its models are loaded by the first request for them. */
export async function startOwnServer(config: LoadedConfig, models: readonly ConfiguredModel[]): Promise<OwnServer> {
  const { log, progress, observer } = createConsole({ level: config.log.level })
  const onDemand = models.map((model) => ({ ...model, load: 'demand' as const }))
  const storage = { ...config.storage, database: 'off' }
  const app = await createApp({ ...config, models: onDemand, storage }, { log, observer })
  // The server requires the keys of the configuration.
  const address = { url: await app.listen(), apiKey: clientKey(config.server) }
  return {
    address,
    close: async () => {
      progress.end()
      await app.close()
    },
  }
}
