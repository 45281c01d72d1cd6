import type { OnLateTokens } from '../../base/emit.ts'

/** The tokens that an engine generated after their requests were cancelled. */
export class LateTokens {
  total = 0

  /** Counts those of one run, for its caller too. */
  of(caller: OnLateTokens | undefined): OnLateTokens {
    return (count) => {
      this.total += count
      caller?.(count)
    }
  }
}
