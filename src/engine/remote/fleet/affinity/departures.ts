import { LruMap } from '../../../../base/lru-map.ts'
import type { AffinityKey } from './affinity-key.ts'
import type { PrefixKey } from './prefix-memory.ts'

const rememberMs = 300_000
const room = 10_000

/**
 * Which endpoints a conversation has left without an answer. A conversation is known by its whole prompt, and by the prompt of its previous
 * turn: the client may repeat the turn, continue it, or rewrite it. Shorter prefixes may belong to other conversations as well.
 */
export class Departures {
  /** The numbers of the endpoints, and until when they are avoided. */
  readonly #byKey = new LruMap<string, Map<number, number>>({ max: room })
  #untilMs = Number.NEGATIVE_INFINITY

  note(keys: readonly AffinityKey[], number: number, nowMs: number): void {
    this.#untilMs = nowMs + rememberMs
    for (const key of ownKeys(keys)) this.#byKey.find(textOf(key), () => new Map()).set(number, this.#untilMs)
  }

  has(keys: readonly AffinityKey[], number: number, nowMs: number): boolean {
    return nowMs < this.#untilMs && keys.some((key) => nowMs < (this.#byKey.get(textOf(key))?.get(number) ?? 0))
  }
}

/** The whole prompt, and the one of the previous turn. */
function ownKeys([whole, ...others]: readonly AffinityKey[]): readonly AffinityKey[] {
  if (whole === undefined || whole.share === undefined) return []
  // The blocks of a first question may be those of a document.
  const previous = others.find(({ isPrevious }) => isPrevious) ?? (whole.isRoot ? undefined : others[0])
  return previous === undefined || previous.isOld ? [whole] : [whole, previous]
}

function textOf({ high, low }: PrefixKey): string {
  return `${high}:${low}`
}
