import { join } from 'node:path'
import type { LoadedConfig } from '../config/load.ts'
import { type ApiKey, allScopes } from '../contract/principal.ts'
import type { FindKey } from '../http/auth.ts'
import { ApiKeyFile, hashApiKey, type StoredKey } from './api-key-file.ts'
import { isLoopback } from './loopback.ts'

/** The configured API keys, or how to find those of the key file; `createdKey` when this start created one. */
type FoundKeys = { readonly apiKeys: readonly ApiKey[]; readonly findKey?: FindKey; readonly createdKey?: string }

/** Keys are optional on loopback; a server that others can reach never runs without one. */
export async function findKeys({ server, home }: Pick<LoadedConfig, 'server' | 'home'>): Promise<FoundKeys> {
  const configured = [
    ...(server.apiKeys ?? []).map(readKey),
    ...(server.adminKey === undefined ? [] : [adminKey(server.adminKey)]),
  ]
  if (configured.length > 0) return { apiKeys: configured }
  if (isLoopback(server.host)) return { apiKeys: [] }
  const file = openKeyFile(home)
  // The operator's only key: nobody else can have given it one, so that it may do everything.
  const createdKey = await file.ensureKey()
  const findKey: FindKey = (hash) => {
    const stored = file.find(hash)
    return stored && toApiKey(stored)
  }
  return { apiKeys: [], findKey, ...(createdKey !== undefined && { createdKey }) }
}

/** The keys that Dragoman made, which servers with this data folder accept when none are configured. */
export function openKeyFile(home: string): ApiKeyFile {
  return new ApiKeyFile(join(home, 'api-keys.json'))
}

type ConfiguredKey = NonNullable<LoadedConfig['server']['apiKeys']>[number]

/** A configured key that may use models, for this process's own requests. */
export function clientKey({ apiKeys = [], adminKey }: LoadedConfig['server']): string | undefined {
  for (const configured of apiKeys) {
    if (typeof configured === 'string') return configured
    if (configured.scopes.some((scope) => scope !== 'metrics')) return configured.key
  }
  return adminKey
}

/** A plain text is a key for clients: it may use models, and change nothing. */
function readKey(configured: ConfiguredKey): ApiKey {
  if (typeof configured === 'string') return { hash: hashApiKey(configured), scopes: new Set(['public', 'inference']) }
  const { key, ...described } = configured
  return toApiKey({ hash: hashApiKey(key), ...described })
}

function toApiKey({ hash, name, scopes, models, expiresAt }: StoredKey): ApiKey {
  return {
    hash,
    scopes: new Set(['public', ...scopes]),
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models }),
    ...(expiresAt !== undefined && { expiresAtMs: Date.parse(expiresAt) }),
  }
}

function adminKey(key: string): ApiKey {
  return { hash: hashApiKey(key), name: 'admin', scopes: allScopes }
}
