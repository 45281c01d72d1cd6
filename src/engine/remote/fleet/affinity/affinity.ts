import type { AffinityOutcome } from '../../../../contract/attempts.ts'
import type { AffinityKey } from './affinity-key.ts'
import { Departures } from './departures.ts'
import { type Group, Homes } from './homes.ts'
import { Popularity } from './popularity.ts'
import { PrefixMemory } from './prefix-memory.ts'

export type { AffinityKey } from './affinity-key.ts'

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
  readonly foreignTokens: number | undefined
  readonly isFull: boolean
  readonly isFar: boolean
  readonly weight: number
  readonly endpoint: { readonly id: string; readonly weight: number }
}

type Standings<Member> = { meanFor(member: Member): number; isFree(member: Member): boolean; loadOf(member: Member): number }

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
/** How many requests it takes to learn which part of the conversations is shared with other processes. */
const learnedRequests = 100
/** The same of documents that another process may have sent, which tell more, and seldom. */
const learnedOpenings = 25
/** With fewer conversations than this part elsewhere, this process is as good as alone. */
const aloneBelow = 0.1
/** How many standard deviations of a load are chance: of one that is only seen in part, and of one that the endpoint has reported. */
const unseenDeviations = 2
const reportedDeviations = 0.5

/** Knows which endpoints probably have a prompt in their caches, and whether they may be chosen for it. */
export class Affinity<Member extends Holder> {
  readonly #standings: Standings<Member>
  readonly #bound: number
  /** By number. */
  readonly #members = new Map<number, Member>()
  readonly #homes = new Homes<Member>()
  readonly #groups = new Popularity()
  readonly #openings = new Popularity()
  /** The part of the conversations whose last request another process has sent. */
  #elsewhere = 0
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
    this.#homes.add(member)
    this.#memory?.grow(this.#room)
  }

  remove(member: Member): void {
    this.#members.delete(member.number)
    this.#homes.remove(member)
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
    const previous = known.find(({ key }) => key.isPrevious)
    let found: readonly Member[] | undefined
    const homes = () => {
      found ??= this.#homesOf(affinityKeys)
      return found
    }
    return {
      hasLeft: ({ number }) => this.#departures.has(affinityKeys, number, nowMs),
      choose: (fits) => {
        const limits = this.#limits({ tokens, promptTokens })
        const mayTake = (member: Member, limit: number) =>
          this.#standings.loadOf(member) <= limit && this.#standings.isFree(member) && fits(member)
        const isHealthy = ({ breaker }: Member) => breaker.state(nowMs) === 'closed'
        const holderOf = ({ key, holders }: (typeof deciding)[number]) => {
          const [first, ...others] = holders.filter(
            (member) => mayTake(member, limits.ofHolder(member, key.share ?? 0)) && isHealthy(member),
          )
          if (first === undefined) return undefined
          return others.reduce(
            (best, member) => (this.#standings.loadOf(member) < this.#standings.loadOf(best) ? member : best),
            first,
          )
        }
        // A process that sees all turns knows more than the hash tells.
        const knowsMore = ({ key }: (typeof deciding)[number]) => key.isOld !== true || this.#elsewhere < aloneBelow
        // A new conversation may also be the trial of an endpoint that comes back.
        const isHome = (member: Member) =>
          previous === undefined
            ? !member.isFull && mayTake(member, limits.ofNew(member))
            : mayTake(member, limits.ofHolder(member, 0)) && isHealthy(member)
        return (
          firstOf(deciding, (known) => (knowsMore(known) ? holderOf(known) : undefined)) ??
          homes().find(isHome) ??
          firstOf(deciding, (known) => (knowsMore(known) ? undefined : holderOf(known)))
        )
      },
      place: (member) => {
        const isAtHome = previous?.holders.length === 0 && homes()[0] === member
        const isKnown = !isAtHome && deciding[0]?.holders.includes(member) === true
        const outcome = isKnown ? 'known' : homes()[0] === member ? 'home' : deciding.length > 0 ? 'moved' : 'new'
        this.#learn(affinityKeys, previous?.holders)
        for (const key of affinityKeys) memory.note(key, member.number, nowMs)
        const share = known.find(({ holders }) => holders.includes(member))?.key.share ?? 0
        const opening = previous === undefined ? known.find(({ key }) => key.isOpening) : undefined
        // If it is there nevertheless, another process has sent it.
        const isFirstHere = opening !== undefined && !opening.holders.includes(member)
        // Another process has probably sent the conversation's last request there.
        const expected = isAtHome ? (previous.key.share ?? 0) * this.#elsewhere : 0
        return {
          outcome,
          cachedTokens: promptTokens * Math.max(share, expected),
          learn: (inputTokens, reported) => {
            if (reported > 0) this.#reporting.add(member)
            if (isFirstHere && this.#reporting.has(member)) {
              this.#learnElsewhere(reported >= inputTokens * (opening.key.share ?? 1), learnedOpenings)
            }
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

  /** How much load an endpoint may have to get the request. */
  #limits({ tokens, promptTokens }: { readonly tokens: number; readonly promptTokens: number }) {
    const meanFor = (member: Member) => this.#standings.meanFor(member)
    // Each process sees a sample of the load that several make: what exceeds the mean by chance says little about the whole.
    const chanceOf = (member: Member) =>
      (member.foreignTokens === undefined ? unseenDeviations : reportedDeviations) *
      Math.sqrt(this.#elsewhere * meanFor(member) * tokens)
    return {
      /** `share`: of the prompt, what the endpoint has in its cache. */
      ofHolder: (member: Member, share: number) =>
        chanceOf(member) +
        Math.max(this.#bound * meanFor(member), meanFor(member) + (tokens - promptTokens * share) / member.weight),
      // Nothing is lost elsewhere. But other processes have to come to the same choice.
      ofNew: (member: Member) => chanceOf(member) + meanFor(member) * (1 + (this.#bound - 1) * this.#elsewhere),
    }
  }

  /** `previous`: who has read the last request of the conversation. Undefined for the first one. */
  #learn(keys: readonly AffinityKey[], previous: readonly Member[] | undefined): void {
    if (previous !== undefined) this.#learnElsewhere(previous.length === 0, learnedRequests)
    for (const key of keys) {
      if (key.isGroup) this.#groups.count(key, this.#homes.size)
      // Only first requests: how long a conversation is says nothing about its document.
      if (key.isOpening && previous === undefined) this.#openings.count(key, this.#homes.size)
    }
  }

  #learnElsewhere(isElsewhere: boolean, learned: number): void {
    this.#elsewhere += ((isElsewhere ? 1 : 0) - this.#elsewhere) / learned
  }

  /** Where the conversation belongs, the best first. */
  #homesOf(keys: readonly AffinityKey[]): readonly Member[] {
    const root = keys.find(({ isRoot }) => isRoot)
    if (root === undefined) return []
    const groups: Group[] = []
    const system = keys.find(({ isGroup }) => isGroup)?.share ?? 0
    for (const key of keys) {
      if (key.isGroup) groups.push({ key, share: this.#groups.shareOf(key) })
      // Also one that no other conversation had here: who sees the document first sends it where all others will.
      if (key.isOpening) groups.push({ key, share: this.#openings.shareOf(key), weight: 1 - system / (root.share ?? 1) })
    }
    return this.#homes.of(root, groups)
  }

  get #room(): number {
    return Math.max(leastRoom, keysPerEndpoint * this.#members.size)
  }

  #memoryOf(): PrefixMemory {
    this.#memory ??= new PrefixMemory({ holders: maxHolders, room: this.#room })
    return this.#memory
  }
}

function firstOf<Item, Result>(items: readonly Item[], find: (item: Item) => Result | undefined): Result | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

function decides({ share }: AffinityKey): boolean {
  return share === undefined || share >= leastShare
}
