import { createHash } from 'node:crypto'
import type { PrefixKey } from './prefix-memory.ts'

type Server = { readonly isFar: boolean; readonly endpoint: { readonly id: string; readonly weight: number } }

type Place<Member> = { readonly member: Member; readonly high: number; readonly low: number; readonly logWeight: number }

/** What conversations have in common, and the part of all requests that have it. */
export type Group = {
  readonly key: PrefixKey
  readonly share: number
  /** It is the beginning of a question, such as a document, that few conversations have, or one. So much of the first request is the question. */
  readonly weight?: number
}

/** How many servers are in question for a conversation. */
const mostHomes = 4
/** A group spreads over this many times the servers that its requests fill. */
const spread = 8
/** Added to the logarithms of servers in other zones: they come after all those of this zone. */
const farDistance = 1000
/** The least servers of a group: with fewer, a server that is the first one of several groups has too much to do. */
const leastSpread = 8
/**
 * The same for the beginning of a question: as close as can be, or each server reads each document; but the more of the request is its system
 * prompt, the less close, or that is read anew.
 */
const [spreadOfOpening, leastSpreadOfOpening] = [3, 0.5]

/**
 * The servers where a conversation belongs, as each process finds out by itself: rendezvous hashing of its beginning over the servers'
 * ids, so that processes agree without a message, and a server that comes or goes moves only its own conversations. A group prefers a few
 * servers, as many as its part of the requests needs, so that these read its system prompt and not all.
 */
export class Homes<Member extends Server> {
  readonly #places: Place<Member>[] = []

  get size(): number {
    return this.#places.length
  }

  add(member: Member): void {
    const { id, weight } = member.endpoint
    const digest = createHash('sha1').update(id).digest()
    this.#places.push({ member, high: digest.readInt32LE(0), low: digest.readInt32LE(4), logWeight: Math.log(weight) })
  }

  remove(member: Member): void {
    const index = this.#places.findIndex((place) => place.member === member)
    const last = this.#places.pop()
    if (last !== undefined && index !== -1 && index < this.#places.length) this.#places[index] = last
  }

  /**
   * The first servers of the conversation, the best first: those with the least exponential variable of the root, times e to the power of
   * the distance from the groups, by weight; all as logarithms.
   */
  of(root: PrefixKey, groups: readonly Group[]): readonly Member[] {
    const slopes = groups.map(({ key, share, weight }) => {
      const [most, least] = weight === undefined ? [spread, leastSpread] : [spreadOfOpening, leastSpreadOfOpening]
      return { key, slope: (weight ?? 1) ** 2 * Math.min(this.size / least, 1 / (most * share)) }
    })
    const best: { readonly member: Member; readonly cost: number }[] = []
    let worst = Number.POSITIVE_INFINITY
    for (const place of this.#places) {
      let distance = (place.member.isFar ? farDistance : 0) - place.logWeight
      for (const { key, slope } of slopes) distance += (slope * mixed(key, place)) / 2 ** 32
      const bits = mixed(root, place)
      // A lower bound of the logarithms, which most servers do not need.
      if (distance - (Math.clz32(~bits) + 1) * Math.LN2 >= worst) continue
      const cost = distance + Math.log(-Math.log((bits + 0.5) / 2 ** 32))
      if (cost >= worst) continue
      const at = best.findIndex((other) => cost < other.cost)
      best.splice(at === -1 ? best.length : at, 0, { member: place.member, cost })
      if (best.length > mostHomes) best.pop()
      if (best.length === mostHomes) worst = best.at(-1)?.cost ?? worst
    }
    return best.map(({ member }) => member)
  }
}

/** 32 bits that only the two determine. Each bit of them changes half of the result, as in the last step of Murmur. */
function mixed(key: PrefixKey, server: PrefixKey): number {
  let bits = key.low ^ server.low
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35)
  bits = (bits ^ (bits >>> 16)) + (key.high ^ server.high)
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
