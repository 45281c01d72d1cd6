import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import { messageOf } from '../../contract/errors.ts'
import type { PresetChoice } from '../../contract/server/siblings.ts'
import { openMadeKeys } from '../keys/open-made-keys.ts'
import { createSealer, createSessionHash, warnOfUnsharedSeals } from '../keys/sealer.ts'
import { UsageLog } from '../keys/usage-log.ts'
import { openConfiguredStore } from './configured-store.ts'
import { LiveConfig } from './live-config.ts'

type Surroundings = {
  readonly log: Logger
  /** The operator's earlier choice, which may no longer be in the configuration. */
  readonly preset: PresetChoice | undefined
}

/** The state of a server beside its models: its store, its keys and what they have used, its configuration, which may change. */
export type State = Awaited<ReturnType<typeof openState>>

export async function openState(config: LoadedConfig, { log, preset }: Surroundings) {
  const { home } = config
  const store = await openConfiguredStore(config, log)
  const documents = store?.documents
  const live = LiveConfig.open(config, await openMadeKeys({ home, documents, notes: log }), log)
  if (preset !== undefined && (preset.type !== 'named' || live.presets.names.includes(preset.name))) live.presets.choose(preset)
  if (documents !== undefined) warnOfUnsharedSeals(log)
  const usage =
    store &&
    new UsageLog({
      days: store.usageDays,
      now: Date.now,
      onFailure: (error) => log.warn({ reason: messageOf(error) }, 'the use of keys could not be written; it is written later'),
    })
  return {
    store,
    live,
    usage,
    sealerOf: await createSealer({ home, log }),
    /** Names sessions to routers. */
    hash: await createSessionHash({ home }),
    async close() {
      await Promise.all([live.close(), usage?.close()])
      await store?.close()
    },
  }
}
