import type { WireChoice } from '../../transport/wire-chunk.ts'

/** The tokens of a reply before and after a chunk, if the server counts as it generates. */
export type ChunkCount = { readonly before: number; readonly after: number }

/**
 * Enforces the output limit on one choice: a server may not know the field, or ignore it. If the server counts as it generates, its count
 * decides. Otherwise each piece counts as a token, and pieces beyond the limit wait for the server's final count, because a few servers cut
 * their tokens into smaller pieces.
 */
export class OutputLimit {
  readonly #limit: number
  #pieces = 0
  #held: WireChoice[] = []
  /** Nothing more of the choice is output. */
  isOver = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** As many pieces as the limit allows have passed; later ones wait. */
  get isReached(): boolean {
    return this.isOver || this.#held.length > 0
  }

  /** The part of a chunk that is output now. */
  push(wire: WireChoice, count: ChunkCount | undefined): WireChoice | undefined {
    if (this.isOver || !hasOutput(wire)) return wire
    if (count !== undefined) return this.#byCount(wire, count)
    if (this.#pieces < this.#limit) {
      this.#pieces += 1
      return wire
    }
    this.#held.push(wire)
    // Far beyond the limit, the server's count would change nothing.
    if (this.#held.length > 3 * this.#limit + 32) this.#close()
    return undefined
  }

  /** The waiting pieces, if `isWithin`: the server reports that the output is within the limit. Otherwise empty. */
  release(isWithin: boolean): readonly WireChoice[] {
    const held = this.#held
    if (held.length === 0 || this.isOver) return []
    if (!isWithin) this.#close()
    this.#held = []
    return isWithin ? held : []
  }

  /** The server's count includes this chunk, which may hold many tokens. */
  #byCount(wire: WireChoice, { before, after }: ChunkCount): WireChoice | undefined {
    if (after <= this.#limit) return wire
    this.#close()
    const left = Math.max(0, this.#limit - before)
    const share = left / Math.max(1, after - before)
    const [text, reasoning] = [partOf(wire.text, share), partOf(wire.reasoning, share)]
    return left === 0
      ? undefined
      : { ...wire, text, reasoning, refusal: partOf(wire.refusal, share), calls: [], finishReason: undefined }
  }

  #close(): void {
    this.isOver = true
    this.#held = []
  }
}

function hasOutput({ text, reasoning, refusal, calls }: WireChoice): boolean {
  return text !== '' || reasoning !== '' || refusal !== '' || calls.length > 0
}

/** The beginning of a text, without the half of a character. */
function partOf(text: string, share: number): string {
  const part = text.slice(0, Math.floor(text.length * share))
  const last = part.charCodeAt(part.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? part.slice(0, -1) : part
}
