import type { OnTokensAfterCancel } from '../../base/emit.ts'

/** The tokens that an engine generated after their requests were cancelled. */
export class TokensAfterCancel {
  total = 0

  /** Counts the tokens of one run, also for its caller. */
  of(caller: OnTokensAfterCancel | undefined): OnTokensAfterCancel {
    return (count) => {
      this.total += count
      caller?.(count)
    }
  }
}
