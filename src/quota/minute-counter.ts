import { steadyMs } from '../base/steady-ms.ts'
import {
  type KeyLimits,
  longestMinuteMs,
  minuteMs,
  type Settlement,
  type Share,
  type Usage,
  type UsageCounter,
  unused,
} from '../contract/quota.ts'

/** Counts in the memory of this process. Its calls take effect before they return. */
export class MinuteCounter implements UsageCounter {
  /** One per key, so that it does not grow with requests. */
  readonly #accounts = new Map<string, Usage>()
  /** The number of accounts at which expired ones are dropped: days have a new account each. */
  #sweepsAt = 1000

  known(account: string): Usage {
    const usage = this.#accounts.get(account)
    return usage !== undefined && steadyMs() < usage.endsAtMs ? usage : unused
  }

  learn(account: string, usage: Usage): void {
    if (!this.#accounts.has(account) && this.#accounts.size >= this.#sweepsAt) {
      for (const [known, { endsAtMs }] of this.#accounts) if (endsAtMs <= steadyMs()) this.#accounts.delete(known)
      this.#sweepsAt = Math.max(1000, 2 * this.#accounts.size)
    }
    this.#accounts.set(account, usage)
  }

  async read(account: string): Promise<Usage> {
    return this.known(account)
  }

  async take(account: string, share: Share, limits: KeyLimits): Promise<Usage | undefined> {
    const { requestsPerMinute = Infinity, tokensPerMinute = Infinity } = limits
    const before = inPeriod(this.known(account), share.untilMs === undefined)
    const usage = {
      ...this.#periodOf(before, share.untilMs === undefined ? minuteMs : share.untilMs - Date.now()),
      requests: before.requests + share.requests,
      tokens: before.tokens + share.tokens,
      isStretched: before.isStretched || share.isStretched,
    }
    if (share.requests > 0 && usage.requests > requestsPerMinute) return undefined
    if (share.tokens > 0 && usage.tokens > tokensPerMinute) return undefined
    if (share.isStretched && before.isStretched) return undefined
    this.learn(account, usage)
    return usage
  }

  async settle(account: string, { tokens, requests = 0, isStretched, minute }: Settlement): Promise<Usage> {
    const before = this.known(account)
    const isSame = before.minute === minute
    if (!isSame && tokens <= 0) return before
    const usage = {
      ...this.#periodOf(before),
      requests: before.requests + (isSame ? requests : 0),
      tokens: before.tokens + (isSame ? tokens : Math.max(0, tokens)),
      isStretched: before.isStretched && !(isSame && isStretched),
    }
    this.learn(account, usage)
    return usage
  }

  /** The period of the usage, or the next one of this length. */
  #periodOf({ minute, endsAtMs }: Usage, lengthMs = minuteMs): Pick<Usage, 'minute' | 'endsAtMs'> {
    if (minute !== unused.minute) return { minute, endsAtMs }
    const endMs = steadyMs() + lengthMs
    return { minute: endMs, endsAtMs: endMs }
  }
}

/** The part of a usage that still counts: a minute that lasts too long does not, since the clock of a store was set back. */
export function inPeriod(usage: Usage, isMinute: boolean): Usage {
  return isMinute && usage.endsAtMs - steadyMs() > longestMinuteMs ? unused : usage
}
