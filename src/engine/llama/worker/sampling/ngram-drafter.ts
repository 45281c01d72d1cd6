import type { Token } from '../../binding/tokenizer.ts'
import type { Drafter, DraftRequest } from './speculation.ts'

/** Fewer repeated tokens say little about what follows. */
const length = 3

/** The newest drafts that show what one gives. */
const remembered = 4

/** Drafts what followed the last time that the newest tokens occurred, in the prompt or the output (prompt lookup). */
export class NgramDrafter implements Drafter {
  readonly kind = 'ngram'
  readonly #maxTokens: number
  readonly #tokens: Token[] = []
  /** Where the newest occurrence of some tokens ended, by their hash. */
  readonly #next = new Map<number, number>()
  /** While the output repeats the text: where, and the tokens of it with the next one. */
  #followed: { readonly next: number; readonly tokens: number } | undefined
  /** The tokens that passes with drafts would have given. */
  readonly #given: number[] = []

  constructor({ prompt, maxTokens }: { readonly prompt: Iterable<number>; readonly maxTokens: number }) {
    this.#maxTokens = maxTokens
    for (const token of prompt) this.#add(token as Token)
  }

  /** Every token is compared with what a draft would have been, also where nothing is drafted. */
  push(token: Token): void {
    this.#follow(token)
    this.#add(token)
  }

  get expected(): number {
    return this.#given.length === 0 ? 1 : this.#given.reduce((sum, given) => sum + given, 0) / this.#given.length
  }

  #follow(token: Token): void {
    const { next = this.#find(), tokens = 1 } = this.#followed ?? {}
    if (next === undefined) return
    const isRight = this.#tokens[next] === token
    this.#followed = isRight && tokens < this.#maxTokens ? { next: next + 1, tokens: tokens + 1 } : undefined
    if (this.#followed !== undefined) return
    this.#given.push(isRight ? tokens + 1 : tokens)
    if (this.#given.length > remembered) this.#given.shift()
  }

  #add(token: Token): void {
    const at = this.#tokens.length
    if (at >= length) this.#next.set(this.#hashBefore(at), at)
    this.#tokens.push(token)
  }

  /** Empty where the newest tokens have not occurred before. */
  draft({ room }: Pick<DraftRequest, 'room'>): readonly Token[] {
    const most = Math.min(room, this.#maxTokens)
    const next = this.#find()
    return next === undefined || most <= 0 ? [] : this.#tokens.slice(next, next + most)
  }

  /** What follows the newest tokens where they occurred before. */
  #find(): number | undefined {
    const end = this.#tokens.length
    const next = end < length ? undefined : this.#next.get(this.#hashBefore(end))
    if (next === undefined) return undefined
    for (let back = 1; back <= length; back++) if (this.#tokens[next - back] !== this.#tokens[end - back]) return undefined
    return next
  }

  #hashBefore(at: number): number {
    let hash = 0
    for (let back = length; back > 0; back--) hash = (Math.imul(hash, 0x9e3779b1) ^ (this.#tokens[at - back] as number)) | 0
    return hash
  }
}
