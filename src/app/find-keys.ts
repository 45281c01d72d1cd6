import { join } from 'node:path'
import type { LoadedConfig } from '../config/load.ts'
import type { FindKey } from '../http/auth.ts'
import { ApiKeyFile, hashApiKey } from './api-key-file.ts'
import { isLoopback } from './loopback.ts'

/** The hashes of the configured API keys, or how to find those of the key file; `createdKey` when this start created one. */
export type ApiKeys = { readonly hashes: readonly string[]; readonly findKey?: FindKey; readonly createdKey?: string }

/** Keys are optional on loopback; a server that others can reach never runs without one. */
export async function findKeys({ server, home }: Pick<LoadedConfig, 'server' | 'home'>): Promise<ApiKeys> {
  if (server.apiKeys !== undefined) return { hashes: server.apiKeys.map(hashApiKey) }
  if (isLoopback(server.host)) return { hashes: [] }
  const file = openKeyFile(home)
  const createdKey = await file.ensureKey()
  return { hashes: [], findKey: (hash) => file.find(hash), ...(createdKey !== undefined && { createdKey }) }
}

/** The keys that Dragoman made, which servers with this data folder accept when none are configured. */
export function openKeyFile(home: string): ApiKeyFile {
  return new ApiKeyFile(join(home, 'api-keys.json'))
}
