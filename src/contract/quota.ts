/** What a key may use; absent: without a limit. */
export type KeyLimits = {
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  /** Calls of tools that the server runs. */
  readonly toolCallsPerMinute?: number
  /** Budgets, for days and months of UTC. */
  readonly tokensPerDay?: number
  readonly tokensPerMonth?: number
}

/** Those that a key has itself, or from `server.keyLimits`. */
export const limitNames = [
  'requestsPerMinute',
  'tokensPerMinute',
  'toolCallsPerMinute',
  'tokensPerDay',
  'tokensPerMonth',
] as const satisfies readonly (keyof KeyLimits)[]

/** The limits that the keys of a group have together. */
export type GroupLimits = Omit<KeyLimits, 'toolCallsPerMinute'> & { readonly name: string }

export type Period = 'minute' | 'day' | 'month'

/** The limits of a key, and of its group, and the name under which its use is counted. */
export type KeyQuota = KeyLimits & { readonly account: string; readonly group?: GroupLimits }

/** What is left of a budget. */
export type BudgetState = {
  readonly period: Exclude<Period, 'minute'>
  /** Whose budget it is; absent: the key's own. */
  readonly group?: string
  readonly limit: number
  /** Used or reserved. */
  readonly used: number
  /** When all of it is there again, in milliseconds of the epoch. */
  readonly resetsAtMs: number
}

type LimitUnit = 'requests' | 'tokens'

/** What is left of a limit, and after how many milliseconds all of it is there again. */
export type LimitState = {
  readonly unit: LimitUnit
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}

/** A limit that a request would exceed; dialects quote it in their own words. */
export type ExceededLimit = {
  readonly unit: LimitUnit
  /** Whose limit it is; absent: the key's own. */
  readonly group?: string
  readonly limit: number
  readonly used: number
  /** What the request may take. */
  readonly requested: number
}

/** What an account has used in its minute, which begins with its first use, or in its day or month. */
export type Usage = {
  readonly requests: number
  readonly tokens: number
  /** A request of this minute runs on fewer tokens than it may use. */
  readonly isStretched: boolean
  /** The same for all processes that count together. */
  readonly minute: number
  /** By `steadyMs`. */
  readonly endsAtMs: number
}

/** Of an account that begins its period. */
export const unused: Usage = { requests: 0, tokens: 0, isStretched: false, minute: 0, endsAtMs: 0 }

export const minuteMs = 60_000
/** A minute that ends later than this began before the clock of a store was set back. Clocks that are read together differ by less. */
export const longestMinuteMs = 70_000

/** What a request takes. */
export type Share = {
  readonly requests: number
  readonly tokens: number
  readonly isStretched: boolean
  /** The end of the period in which an account counts that is new, in milliseconds of the epoch; absent: a minute later. */
  readonly untilMs?: number
}

/** Replaces the tokens that a request took by those that it used. */
export type Settlement = {
  /** Used less taken; negative where less was used. */
  readonly tokens: number
  /** The same of requests, such as for one that is refused after all; absent: 0. */
  readonly requests?: number
  readonly isStretched: boolean
  /** In which it took them: the next one must not gain by what is given back. */
  readonly minute: number
}

/** Counts what accounts use, for one process or for several. */
export interface UsageCounter {
  read(account: string): Promise<Usage>
  /**
   * Counts a share in one step, or nothing: when more than the limits would be used, or two requests were stretched. Resolves with the
   * usage then, or undefined.
   */
  take(account: string, share: Share, limits: KeyLimits): Promise<Usage | undefined>
  settle(account: string, settlement: Settlement): Promise<Usage>
}
