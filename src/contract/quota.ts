/** The limits of a key; an absent one does not apply. */
export type KeyLimits = {
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  /** Calls of tools that the server runs. */
  readonly toolCallsPerMinute?: number
  /** Budgets, for days and months in UTC. */
  readonly tokensPerDay?: number
  readonly tokensPerMonth?: number
}

/** The limits of a key itself, or from `server.keyLimits`. */
export const limitNames = [
  'requestsPerMinute',
  'tokensPerMinute',
  'toolCallsPerMinute',
  'tokensPerDay',
  'tokensPerMonth',
] as const satisfies readonly (keyof KeyLimits)[]

export type GroupLimits = Omit<KeyLimits, 'toolCallsPerMinute'> & { readonly name: string }

export type Period = 'minute' | 'day' | 'month'

/** The limits of a key and of its group, and the account that counts its use. */
export type KeyQuota = KeyLimits & { readonly account: string; readonly group?: GroupLimits }

/** What remains of a budget. */
export type BudgetState = {
  readonly period: Exclude<Period, 'minute'>
  /** The group whose budget it is; absent: the key's own. */
  readonly group?: string
  readonly limit: number
  /** Used or reserved. */
  readonly used: number
  /** When the whole budget is available again, in milliseconds of the epoch. */
  readonly resetsAtMs: number
}

type LimitUnit = 'requests' | 'tokens'

/** What remains of a limit, and after how many milliseconds all of it is available again. */
export type LimitState = {
  readonly unit: LimitUnit
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

/** A limit that a request would exceed; dialects quote it in their own words. */
export type ExceededLimit = {
  readonly unit: LimitUnit
  /** The group whose limit it is; absent: the key's own. */
  readonly group?: string
  readonly limit: number
  readonly used: number
  /** The most that the request may use. */
  readonly requested: number
}

/** The usage of an account in its minute, which begins with its first use, or in its day or month. */
export type Usage = {
  readonly requests: number
  readonly tokens: number
  /** A request of this period runs on fewer tokens than it may need. */
  readonly isStretched: boolean
  /** Equal in all processes that count together. */
  readonly minute: number
  /** On the clock of `steadyMs`. */
  readonly endsAtMs: number
  /** How many processes cannot count together at the moment, where each allows its part of the rest. */
  readonly among?: number
}

/** The usage of an account at the start of its period. */
export const unused: Usage = { requests: 0, tokens: 0, isStretched: false, minute: 0, endsAtMs: 0 }

export const minuteMs = 60_000
/** A minute that ends later than this began before the clock of a store was set back. Clocks that are read together differ by less. */
export const longestMinuteMs = 70_000

export type Share = {
  readonly requests: number
  readonly tokens: number
  readonly isStretched: boolean
  /** The end of a new account's period, in milliseconds of the epoch; absent: a minute later. */
  readonly untilMs?: number
}

/** Replaces the tokens that a request took by those that it used. */
export type Settlement = {
  /** Used minus taken; negative if less was used. */
  readonly tokens: number
  /** As `tokens`, for requests, such as one that is refused after all; absent: 0. */
  readonly requests?: number
  readonly isStretched: boolean
  /** The period in which they were taken: the next one must not gain from a return. */
  readonly minute: number
}

/** Counts the usage of accounts, for one process or for several. */
export interface UsageCounter {
  read(account: string): Promise<Usage>
  /**
   * Takes a share in one step, or nothing if that would exceed the limits or stretch a second request. Resolves with the new usage, or
   * undefined.
   */
  take(account: string, share: Share, limits: KeyLimits): Promise<Usage | undefined>
  settle(account: string, settlement: Settlement): Promise<Usage>
}
