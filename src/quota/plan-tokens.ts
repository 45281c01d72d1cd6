/** What a request may take of a limit, and what is taken already. */
type TokenPlan = {
  readonly limit: number
  readonly used: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** A request of the account is running on less than it may use. */
  readonly isStretched: boolean
}

/** The tokens to reserve, or why there are none: `later` there may be, `never` are there as many. */
type Reserved = { readonly tokens: number; readonly isStretched: boolean } | 'later' | 'never'

/**
 * Reserves all that a request may use. Where that is not left, one request at a time may run on what is left, if its prompt fits: agents
 * ask for far more output than they get. So an account exceeds its limit by at most the output of one request.
 */
export function planTokens({ limit, used, inputTokens, outputTokens, isStretched }: TokenPlan): Reserved {
  const left = limit - used
  if (inputTokens > limit) return 'never'
  if (inputTokens + outputTokens <= left) return { tokens: inputTokens + outputTokens, isStretched: false }
  if (isStretched || left <= 0 || inputTokens > left) return 'later'
  return { tokens: left, isStretched: true }
}
