import type { OnTokensAfterCancel } from '../../base/emit.ts'

/** The tokens that an engine generated after their requests were cancelled. */
export class TokensAfterCancel {
  total = 0

  /** Counts those of one run, for its caller too. */
  of(caller: OnTokensAfterCancel | undefined): OnTokensAfterCancel {
    return (count) => {
      this.total += count
      caller?.(count)
    }
  }
}
