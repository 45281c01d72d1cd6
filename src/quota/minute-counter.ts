import type { KeyLimits, Settlement, Share, Usage, UsageCounter } from '../contract/quota.ts'

const minuteMs = 60_000
const unused: Usage = { requests: 0, tokens: 0, isStretched: false, minute: 0, endsAtMs: 0 }

/** Counts in the memory of this process. Its calls have taken effect when they return. */
export class MinuteCounter implements UsageCounter {
  /** One per key, so that it does not grow with requests. */
  readonly #accounts = new Map<string, Usage>()

  known(account: string): Usage {
    const usage = this.#accounts.get(account)
    return usage !== undefined && Date.now() < usage.endsAtMs ? usage : unused
  }

  /** Replaces what is known. */
  learn(account: string, usage: Usage): void {
    this.#accounts.set(account, usage)
  }

  async read(account: string): Promise<Usage> {
    return this.known(account)
  }

  async take(account: string, share: Share, limits: KeyLimits): Promise<Usage | undefined> {
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity } = limits
    const before = this.known(account)
    const usage = {
      ...this.#minuteOf(before),
      requests: before.requests + share.requests,
      tokens: before.tokens + share.tokens,
      isStretched: before.isStretched || share.isStretched,
    }
    if (share.requests > 0 && usage.requests > requestsPerMinute) return undefined
    if (share.tokens > 0 && usage.tokens > tokensPerMinute) return undefined
    if (share.isStretched && before.isStretched) return undefined
    this.#accounts.set(account, usage)
    return usage
  }

  async settle(account: string, { tokens, isStretched, minute }: Settlement): Promise<Usage> {
    const before = this.known(account)
    const isSame = before.minute === minute
    if (!isSame && tokens <= 0) return before
    const usage = {
      ...this.#minuteOf(before),
      requests: before.requests,
      tokens: before.tokens + (isSame ? tokens : Math.max(0, tokens)),
      isStretched: before.isStretched && !(isSame && isStretched),
    }
    this.#accounts.set(account, usage)
    return usage
  }

  #minuteOf({ minute, endsAtMs }: Usage): Pick<Usage, 'minute' | 'endsAtMs'> {
    if (minute !== unused.minute) return { minute, endsAtMs }
    const endMs = Date.now() + minuteMs
    return { minute: endMs, endsAtMs: endMs }
  }
}
