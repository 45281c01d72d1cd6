import type { GroupLimits, KeyLimits, KeyQuota } from './quota.ts'

/** The permission that a route requires; `public` requires none. */
export type Scope = 'public' | 'inference' | 'tools' | 'metrics' | 'admin'

export type Principal = {
  readonly id: string
  /** Any caller of a server without keys. */
  readonly isAnyone?: true
  /** The hash of its key; absent without one. */
  readonly keyHash?: string
  readonly scopes: ReadonlySet<Scope>
  /** Ids or aliases of the models that it may use; absent: all. */
  readonly models?: readonly string[]
  /** Names of tools and of MCP servers that it may use; absent: all. */
  readonly tools?: readonly string[]
  /** Absent: no limits. */
  readonly quota?: KeyQuota
}

/** The names of callers without a key, where none is required, and of those whose key has no name. */
export const reservedKeyName = /^(?:anyone|key-[\da-fA-F]{8})$/

/** Valid names of keys: with a reserved name, a key would own what others have stored. */
export const keyName = /^(?!anyone$|key-[\da-fA-F]{8}$)[\w.-]{1,64}$/

/** Decides which models are visible: `{}` sees all. */
export type ModelViewer = Pick<Principal, 'models'>

/** A key that callers may send, by its SHA-256 hash. */
export type ApiKey = {
  readonly hash: string
  /** Its name in logs; absent: the start of the hash. */
  readonly name?: string
  readonly scopes: ReadonlySet<Scope>
  /** Ids or aliases of the models that it may use; absent: all. */
  readonly models?: readonly string[]
  /** Names of tools and of MCP servers that it may use; absent: all. */
  readonly tools?: readonly string[]
  readonly limits?: KeyLimits
  /** The limits that it shares with other keys. */
  readonly group?: GroupLimits
  /** Milliseconds of the epoch; absent: never. */
  readonly expiresAtMs?: number
}

/** The scopes of callers without limits. */
export const allScopes: ReadonlySet<Scope> = new Set<Scope>(['public', 'inference', 'tools', 'metrics', 'admin'])
