import type { SharedDocuments } from '../../contract/server/shared.ts'
import { keyFilePath, openKeyFile } from './find-keys.ts'
import type { MadeKeys } from './made-keys.ts'
import { type Notes, SharedKeys } from './shared-keys.ts'

type Place = {
  readonly home: string
  /** Absent: the servers with this store have nothing in common. */
  readonly documents: SharedDocuments | undefined
  readonly notes: Notes
}

/** The keys that Dragoman made: of all servers with the store, or else of those with the data folder. */
export async function openMadeKeys({ home, documents, notes }: Place): Promise<MadeKeys> {
  if (documents === undefined) return openKeyFile(home)
  const keys = await SharedKeys.open(documents)
  await keys.takeOver(keyFilePath(home), notes)
  return keys
}
