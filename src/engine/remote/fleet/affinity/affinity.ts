import type { AffinityOutcome } from '../../../../contract/attempts.ts'
import { Departures } from './departures.ts'
import { type PrefixKey, PrefixMemory } from './prefix-memory.ts'

/** `share`: the length of the prefix as a part of the prompt, from 0 to 1. Absent for a caller's key, whose prefix is unknown. */
export type AffinityKey = PrefixKey & { readonly share?: number }

export type AffinityOptions = {
  /**
   * A request goes elsewhere if the endpoint's load exceeds this multiple of the mean, and exceeds the mean by more than the request would
   * cost there.
   */
  readonly bound?: number
}

/** An endpoint that may have a prefix in its cache. */
type Holder = {
  /** Identifies it in the prefix memory. */
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
  /** Tokens of the prompt that the endpoint probably has in its cache. */
  readonly cachedTokens: number
  /** Records the number of cached tokens that the endpoint reported. */
  learn(inputTokens: number, cachedTokens: number): void
  /** The conversation leaves the endpoint without an answer: for a while, it returns only if no other endpoint may be used. */
  leave(nowMs: number): void
}

export type Sought<Member> = {
  /** The conversation has left this endpoint without an answer. */
  hasLeft(member: Member): boolean
  /** The least loaded of the endpoints that have the longest known prefix and are not too busy. */
  choose(fits: (member: Member) => boolean): Member | undefined
  /** Records that the request goes to this endpoint. */
  place(member: Member): Placed
}

/** A prefix that is a smaller part of the prompt does not influence the choice. */
const leastShare = 0.1
/** An endpoint that reports less than this part of the expected tokens has lost the prefix. */
const lostBelow = 0.1
/** Caches keep whole blocks, so shorter prefixes prove nothing. */
const leastKnownTokens = 512
/** The number of prefixes worth remembering for each replica: 64 for each of 16 concurrent requests. */
const keysPerEndpoint = 1024
const leastRoom = 100_000
/** More endpoints are not remembered for one prefix. */
const maxHolders = 8

/** Knows which endpoints probably have a prompt in their caches, and whether they may be chosen for it. */
export class Affinity<Member extends Holder> {
  readonly #standings: Standings<Member>
  readonly #bound: number
  /** By number. */
  readonly #members = new Map<number, Member>()
  /** Created with the first key. */
  #memory: PrefixMemory | undefined
  readonly #departures = new Departures()
  /** Endpoints that have ever reported a cached token: only for these, a report of 0 means something. */
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

  /**
   * The endpoints that may have the request's prompt cached. Undefined for a request without keys, and if no endpoint can be remembered.
   */
  seek({ affinityKeys, tokens, promptTokens = 0, nowMs }: Wanted): Sought<Member> | undefined {
    if (affinityKeys.length === 0 || this.#members.size === 0) return undefined
    const memory = this.#memoryOf()
    const known = affinityKeys.map((key) => ({
      key,
      holders: memory.holdersOf(key, nowMs).flatMap((number) => this.#members.get(number) ?? []),
    }))
    const deciding = known.filter(({ key, holders }) => holders.length > 0 && decides(key))
    return {
      hasLeft: ({ number }) => this.#departures.has(affinityKeys, number, nowMs),
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
          leave: (nowMs) => this.#departures.note(affinityKeys, member.number, nowMs),
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
