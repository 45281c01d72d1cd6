import type { AffinityOutcome } from '../../../../contract/attempts.ts'
import { type PrefixKey, PrefixMemory } from './prefix-memory.ts'

/** `share`: the part of the prompt that the prefix is, from 0 to 1; absent for a key of the caller's, whose prefix is not known. */
export type AffinityKey = PrefixKey & { readonly share?: number }

export type AffinityOptions = {
  /** An endpoint is left when its load exceeds the mean this many times, and the mean by more than the request costs there. */
  readonly bound?: number
}

/** An endpoint that may have read a prefix. */
type Holder = {
  /** Its name in the memory of prefixes. */
  readonly number: number
  readonly breaker: { state(nowMs: number): string }
  readonly outstandingTokens: number
  readonly weight: number
}

type Standings<Member> = { readonly meanLoad: number; isFree(member: Member): boolean }

type Wanted = {
  readonly nowMs: number
  readonly tokens: number
  readonly promptTokens?: number
  readonly affinityKeys: readonly AffinityKey[]
}

export type Placed = {
  readonly outcome: AffinityOutcome
  /** Tokens of the prompt that the endpoint is believed to have in its cache. */
  readonly cachedTokens: number
  /** What the endpoint says about that. */
  learn(inputTokens: number, cachedTokens: number): void
}

export type Sought<Member> = {
  /** Of the endpoints that have read the longest prefix and are not too busy, the least loaded. */
  choose(fits: (member: Member) => boolean): Member | undefined
  /** The request goes to this endpoint. */
  place(member: Member): Placed
}

/** A prefix below this part of the prompt does not decide where it goes. */
const leastShare = 0.1
/** An endpoint that reports less than this part of what it should have has lost it. */
const lostBelow = 0.1
/** Shorter prefixes say nothing about a cache, which keeps whole blocks. */
const leastKnownTokens = 512
/** Prefixes of a replica that are worth remembering: 64 for each of 16 requests at once. */
const keysPerEndpoint = 1024
const leastRoom = 100_000
/** More endpoints are not remembered for one prefix. */
const maxHolders = 8

/** Which endpoint has a prompt in its cache, and whether it may be used for it. */
export class Affinity<Member extends Holder> {
  readonly #standings: Standings<Member>
  readonly #bound: number
  /** By number. */
  readonly #members = new Map<number, Member>()
  /** Made with the first key. */
  #memory: PrefixMemory | undefined
  /** Endpoints that have reported a cached token: only from these, none is news. */
  readonly #reporting = new WeakSet<Member>()

  constructor(standings: Standings<Member>, { bound = 1.5 }: AffinityOptions = {}) {
    this.#standings = standings
    this.#bound = bound
  }

  add(member: Member): void {
    this.#members.set(member.number, member)
    this.#memory?.grow(this.#room)
  }

  remove(member: Member): void {
    this.#members.delete(member.number)
  }

  /** Where the prompt of a request was read; undefined for a request without keys, and while no endpoint is to be remembered. */
  seek({ affinityKeys, tokens, promptTokens = 0, nowMs }: Wanted): Sought<Member> | undefined {
    if (affinityKeys.length === 0 || this.#members.size === 0) return undefined
    const memory = this.#memoryOf()
    const known = affinityKeys.map((key) => ({
      key,
      holders: memory.holdersOf(key, nowMs).flatMap((number) => this.#members.get(number) ?? []),
    }))
    const deciding = known.filter(({ key, holders }) => holders.length > 0 && decides(key))
    return {
      choose: (fits) => {
        const mean = this.#standings.meanLoad
        for (const { key, holders } of deciding) {
          const cost = tokens - promptTokens * (key.share ?? 0)
          const mayTake = (member: Member) =>
            this.#standings.isFree(member) &&
            member.breaker.state(nowMs) === 'closed' &&
            loadOf(member) <= Math.max(this.#bound * mean, mean + cost / member.weight) &&
            fits(member)
          const [first, ...others] = holders.filter(mayTake)
          if (first !== undefined) return others.reduce((best, member) => (loadOf(member) < loadOf(best) ? member : best), first)
        }
        return undefined
      },
      place: (member) => {
        const outcome = deciding[0] === undefined ? 'new' : deciding[0].holders.includes(member) ? 'hit' : 'moved'
        for (const key of affinityKeys) memory.note(key, member.number, nowMs)
        const share = known.find(({ holders }) => holders.includes(member))?.key.share ?? 0
        return {
          outcome,
          cachedTokens: promptTokens * share,
          learn: (inputTokens, reported) => {
            if (reported > 0) this.#reporting.add(member)
            const believed = inputTokens * share
            if (believed < leastKnownTokens || !this.#reporting.has(member)) return
            for (const key of affinityKeys) {
              if (reported < lostBelow * believed) memory.doubt(key, member.number)
              else memory.confirm(key, member.number)
            }
          },
        }
      },
    }
  }

  get #room(): number {
    return Math.max(leastRoom, keysPerEndpoint * this.#members.size)
  }

  #memoryOf(): PrefixMemory {
    this.#memory ??= new PrefixMemory({ holders: maxHolders, room: this.#room })
    return this.#memory
  }
}

function decides({ share }: AffinityKey): boolean {
  return share === undefined || share >= leastShare
}

function loadOf({ outstandingTokens, weight }: Holder): number {
  return outstandingTokens / weight
}
