/** What a key may use in a minute; absent: without a limit. */
export type KeyLimits = {
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  /** Calls of tools that the server runs. */
  readonly toolCallsPerMinute?: number
}

/** The limits of a key, and the name under which its use is counted. */
export type KeyQuota = KeyLimits & { readonly account: string }

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
  readonly limit: number
  readonly used: number
  /** What the request may take. */
  readonly requested: number
}

/** What an account has used in its minute, which begins with its first use. */
export type Usage = {
  readonly requests: number
  readonly tokens: number
  /** A request of this minute runs on fewer tokens than it may use. */
  readonly isStretched: boolean
  /** The same for all processes that count together. */
  readonly minute: number
  /** By the clock of this process. */
  readonly endsAtMs: number
}

/** What a request takes. */
export type Share = { readonly requests: number; readonly tokens: number; readonly isStretched: boolean }

/** Replaces the tokens that a request took by those that it used. */
export type Settlement = {
  /** Used less taken; negative where less was used. */
  readonly tokens: number
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
