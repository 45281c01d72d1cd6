import type { Token } from '../../binding/tokenizer.ts'
import type { Drafter, DraftRequest } from './speculation.ts'

/** Fewer repeated tokens say little about what follows. */
const length = 3

/** Drafts what followed the last time that the newest tokens occurred, in the prompt or the output (prompt lookup). */
export class NgramDrafter implements Drafter {
  readonly kind = 'ngram'
  readonly #maxTokens: number
  readonly #tokens: Token[] = []
  /** Where the newest occurrence of some tokens ended, by their hash. */
  readonly #next = new Map<number, number>()

  constructor({ prompt, maxTokens }: { readonly prompt: Iterable<number>; readonly maxTokens: number }) {
    this.#maxTokens = maxTokens
    for (const token of prompt) this.push(token as Token)
  }

  push(token: Token): void {
    const at = this.#tokens.length
    if (at >= length) this.#next.set(this.#hashBefore(at), at)
    this.#tokens.push(token)
  }

  /** Empty where the newest tokens have not occurred before. */
  draft({ room }: Pick<DraftRequest, 'room'>): readonly Token[] {
    const most = Math.min(room, this.#maxTokens)
    const end = this.#tokens.length
    if (end < length || most <= 0) return []
    const next = this.#next.get(this.#hashBefore(end))
    if (next === undefined) return []
    for (let back = 1; back <= length; back++) if (this.#tokens[next - back] !== this.#tokens[end - back]) return []
    return this.#tokens.slice(next, next + most)
  }

  #hashBefore(at: number): number {
    let hash = 0
    for (let back = length; back > 0; back--) hash = (Math.imul(hash, 0x9e3779b1) ^ (this.#tokens[at - back] as number)) | 0
    return hash
  }
}
