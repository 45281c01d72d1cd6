import type { Scope } from '../principal.ts'
import type { KeyLimits } from '../quota.ts'

/** A key in a list; the secret itself is not included. */
export type ListedKey = KeyLimits & {
  readonly id: string
  readonly name?: string
  /** `configuration`: it is in the configuration, and can only be changed there. */
  readonly source: 'configuration' | 'made'
  readonly scopes: readonly string[]
  readonly models?: readonly string[]
  readonly tools?: readonly string[]
  readonly group?: string
  readonly expiresAt?: string
  readonly createdAt?: string
  readonly lastUsedAt?: string
  readonly madeBy?: string
}

/** The choices for a new key. */
export type ChosenKey = KeyLimits & {
  readonly name: string
  readonly scopes: readonly Exclude<Scope, 'public'>[]
  readonly models?: readonly string[]
  readonly tools?: readonly string[]
  /** One of the groups of the configuration. */
  readonly group?: string
  readonly expiresAt?: string
}

/** The keys that this server accepts, for operators. */
export interface KeyDirectory {
  readonly areRequired: boolean
  /** Why no key can be made here; absent: it can. */
  readonly whyNone: string | undefined
  list(): Promise<readonly ListedKey[]>
  /**
   * The secret itself is known only now. Rejects with `request-conflict` for a name that is taken, and where no key can be made; with
   * `invalid-request` for an unknown group.
   */
  make(chosen: ChosenKey, by: string): Promise<{ readonly key: string; readonly listed: ListedKey }>
  /** Rejects with `not-found`, and with `request-conflict` for a key of the configuration. */
  delete(id: string): Promise<void>
}
