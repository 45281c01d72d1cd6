import type { LoadedConfig } from '../../config/load.ts'
import type { MadeKeys } from '../keys/made-keys.ts'
import { openMadeKeys } from '../keys/open-made-keys.ts'
import type { Notes } from '../keys/shared-keys.ts'
import { share } from '../sharing/share.ts'
import { connectSharedStore } from './configured-store.ts'

/** The keys that Dragoman made, for a command or a process that has no store open. */
export async function withMadeKeys<T>(config: LoadedConfig, notes: Notes, work: (keys: MadeKeys) => Promise<T>): Promise<T> {
  const store = await connectSharedStore(config)
  try {
    return await work(await openMadeKeys({ home: config.home, documents: share([store?.shared], notes)?.documents, notes }))
  } finally {
    await store?.close()
  }
}
