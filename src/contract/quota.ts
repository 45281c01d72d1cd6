/** What a key may use in a minute; absent: without a limit. */
export type KeyLimits = { readonly requestsPerMinute?: number; readonly tokensPerMinute?: number }

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
