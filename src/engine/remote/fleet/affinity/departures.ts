import { LruMap } from '../../../../base/lru-map.ts'
import type { PrefixKey } from './prefix-memory.ts'

type Key = PrefixKey & { readonly share?: number }

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

  note(keys: readonly Key[], number: number, nowMs: number): void {
    this.#untilMs = nowMs + rememberMs
    for (const key of ownKeys(keys)) this.#byKey.find(textOf(key), () => new Map()).set(number, this.#untilMs)
  }

  has(keys: readonly Key[], number: number, nowMs: number): boolean {
    return nowMs < this.#untilMs && keys.some((key) => nowMs < (this.#byKey.get(textOf(key))?.get(number) ?? 0))
  }
}

/** Not the shortest prefix, which is often the system prompt. */
function ownKeys(keys: readonly Key[]): readonly Key[] {
  const prefixes = keys.filter(({ share }) => share !== undefined)
  return prefixes.slice(0, Math.min(2, Math.max(1, prefixes.length - 1)))
}

function textOf({ high, low }: PrefixKey): string {
  return `${high}:${low}`
}
