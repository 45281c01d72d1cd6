import { join } from 'node:path'
import { given } from '../../base/json.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { AppError } from '../../contract/errors.ts'
import { type ApiKey, allScopes } from '../../contract/principal.ts'
import { type KeyLimits, limitNames } from '../../contract/quota.ts'
import type { FindKey } from '../../http/access/auth.ts'
import { isLoopback } from '../../http/access/loopback.ts'
import { ApiKeyFile } from './api-key-file.ts'
import { counts } from './key-directory.ts'
import { hashApiKey, type MadeKeys, type StoredKey } from './made-keys.ts'

/** The configured API keys, and how to find the made ones. */
export type FoundKeys = {
  readonly apiKeys: readonly ApiKey[]
  readonly findKey?: FindKey
  /** Looks for keys that other servers have just made. */
  readonly refresh?: () => Promise<void>
  /** Writes the times when made keys were used. */
  readonly writeUses?: () => Promise<void>
  /** Makes the first key, and returns it only then. For a server that listens: one that cannot start leaves no key. */
  readonly ensureKey?: () => Promise<string | undefined>
}

/** Keys are optional on loopback; a server that others can reach never runs without one. */
export function findKeys(server: ServerSettings, made: MadeKeys): FoundKeys {
  const configured = [
    ...(server.apiKeys ?? []).map((key) => readKey(key, server)),
    ...(server.adminKey === undefined ? [] : [adminKey(server.adminKey)]),
  ]
  const hasConfigured = configured.length > 0
  if (!hasConfigured && isLoopback(server.host)) return { apiKeys: [] }
  const findKey: FindKey = (hash) => {
    const stored = made.find(hash)
    if (stored === undefined || !counts(stored, configured)) return undefined
    made.noteUse(hash)
    return toApiKey(stored, server)
  }
  const refresh = () => made.refresh()
  const found = { apiKeys: configured, findKey, refresh, writeUses: () => made.writeUses() }
  if (hasConfigured) return found
  // The operator's only key: nobody else can have assigned it, so it may do everything.
  return { ...found, ensureKey: () => made.ensureKey() }
}

/**
 * An emptied or truncated file must not open a server. Throws `invalid-request` if a running server has configured keys and its next
 * configuration has none.
 */
export function checkKeysRemain(before: ServerSettings, next: ServerSettings): void {
  if (!hasKeys(before) || hasKeys(next)) return
  const message =
    'the configuration has no key any more (server.apiKeys, server.adminKey), and a reload cannot take the last one away: ' +
    'restart the server to serve without these keys'
  throw new AppError('invalid-request', message)
}

function hasKeys({ apiKeys, adminKey }: ServerSettings): boolean {
  return apiKeys !== undefined || adminKey !== undefined
}

/** The keys that Dragoman made for servers with this data folder. */
export function openKeyFile(home: string): ApiKeyFile {
  return new ApiKeyFile(keyFilePath(home))
}

export function keyFilePath(home: string): string {
  return join(home, 'api-keys.json')
}

type ServerSettings = LoadedConfig['server']
const adminName = 'admin'
type ConfiguredKey = NonNullable<ServerSettings['apiKeys']>[number]

/** The names of configured keys, which no other key may have. */
export function configuredNames({ apiKeys = [], adminKey }: ServerSettings): readonly string[] {
  const names = apiKeys.flatMap((key) => (typeof key === 'string' || key.name === undefined ? [] : [key.name]))
  return adminKey === undefined ? names : [...names, adminName]
}

/** A configured key that may use models, for this process's own requests. */
export function clientKey({ apiKeys = [], adminKey }: ServerSettings): string | undefined {
  for (const configured of apiKeys) {
    if (typeof configured === 'string') return configured
    if (configured.scopes.some((scope) => scope !== 'metrics')) return configured.key
  }
  return adminKey
}

/** A plain text is a key for clients: it may use models, but change nothing. */
function readKey(configured: ConfiguredKey, server: ServerSettings): ApiKey {
  const { key, ...described } = typeof configured === 'string' ? { key: configured, scopes: ['inference' as const] } : configured
  return toApiKey({ hash: hashApiKey(key), ...described }, server)
}

function toApiKey(stored: StoredKey, { keyLimits, keyGroups = {} }: ServerSettings): ApiKey {
  const { hash, name, scopes, models, tools, expiresAt } = stored
  const limits = limitsOf(stored, keyLimits)
  const group = stored.group === undefined ? undefined : { name: stored.group, ...keyGroups[stored.group] }
  return {
    hash,
    scopes: new Set(['public', ...scopes]),
    ...given({ name, models, tools, limits, group }),
    ...(expiresAt !== undefined && { expiresAtMs: Date.parse(expiresAt) }),
  }
}

/** A key's own limits, with the defaults for the rest. Defaults do not apply to operators. */
function limitsOf({ scopes, ...own }: StoredKey, defaults: KeyLimits | undefined): KeyLimits | undefined {
  const common = scopes.includes('admin') ? undefined : defaults
  const limits = limitNames.flatMap((name) => {
    const limit = own[name] ?? common?.[name]
    return limit === undefined ? [] : [[name, limit] as const]
  })
  return limits.length === 0 ? undefined : Object.fromEntries(limits)
}

function adminKey(key: string): ApiKey {
  return { hash: hashApiKey(key), name: adminName, scopes: allScopes }
}
