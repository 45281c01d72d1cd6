import { join } from 'node:path'
import type { LoadedConfig } from '../config/load.ts'
import { ensureApiKeyFile, hashApiKey } from './api-key-file.ts'
import { isLoopback } from './loopback.ts'

/** The hashes of the valid API keys; `createdKey` when this start created one. */
export type ApiKeys = { readonly hashes: readonly string[]; readonly createdKey?: string }

/** Keys are optional on loopback; a server that others can reach never runs without one. */
export async function findKeys({ server, home }: Pick<LoadedConfig, 'server' | 'home'>): Promise<ApiKeys> {
  if (server.apiKeys !== undefined) return { hashes: server.apiKeys.map(hashApiKey) }
  if (isLoopback(server.host)) return { hashes: [] }
  return ensureApiKeyFile(join(home, 'api-keys.json'))
}
