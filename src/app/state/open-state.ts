import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import { messageOf } from '../../contract/errors.ts'
import type { Primary } from '../../contract/server/shared.ts'
import { openMadeKeys } from '../keys/open-made-keys.ts'
import { createSealer, createSessionHash } from '../keys/sealer.ts'
import { UsageLog } from '../keys/usage-log.ts'
import { share } from '../sharing/share.ts'
import { openConfiguredStore } from './configured-store.ts'
import { LiveConfig } from './live-config.ts'

type Surroundings = {
  readonly log: Logger
  /** Absent: the server has one process. */
  readonly primary: Primary | undefined
}

/** The state of a server beside its models: its store, what it shares with other processes, its keys and what they have used, its configuration, which may change. */
export type State = Awaited<ReturnType<typeof openState>>

export async function openState(config: LoadedConfig, { log, primary }: Surroundings) {
  const { home } = config
  const store = await openConfiguredStore(config, log)
  const siblings = share([primary], log)
  const everyone = share([store?.shared, primary], log)
  // The processes of one server have its file of keys.
  const documents = store?.shared && everyone?.documents
  const live = LiveConfig.open(config, await openMadeKeys({ home, documents, notes: log }), log)
  const usage =
    store &&
    new UsageLog({
      days: store.usageDays,
      now: Date.now,
      onFailure: (error) => log.warn({ reason: messageOf(error) }, 'the use of keys could not be written; it is written later'),
    })
  return {
    store,
    siblings,
    everyone,
    live,
    usage,
    sealerOf: await createSealer({ home, documents, log }),
    /** Names sessions to routers. */
    hash: await createSessionHash({ home, documents }),
    async close() {
      await Promise.all([live.close(), usage?.close()])
      await store?.close()
    },
  }
}
