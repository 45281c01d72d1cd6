import { mostPointBytes, mostPoints } from '../../../contract/engine.ts'
import type { Library, Memory, Context as Native } from './library.ts'

/** `LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY`: only the small state of recurrent layers and sliding windows. */
const partialOnly = 1
/** Tokens between two checkpoints of a long text. */
const interval = 8192
/** Checkpoints closer than this are not worth their pass and their bytes, in tokens. */
const leastDistance = 32

/** The parts of a context that save and restore the state of a sequence. */
type States = { readonly library: Library; readonly native: Native; readonly memory: Memory | null }

/** The state of a sequence after a number of tokens. `isBetween`: taken because the text is long, where nothing begins. */
export type Checkpoint = { readonly last: number; readonly state: Uint8Array; readonly isBetween?: true }

/** A checkpoint, and the tokens since the one before. */
type Placed = { readonly at: number; readonly tokens: number }

/** Where checkpoints are worth most in a prompt, as numbers of tokens. */
export type Stops = {
  /** The length of the prompt. */
  readonly tokens: number
  readonly lastMessage: LastMessage | undefined
}

/** `start`: the tokens in front of it, if known. */
export type LastMessage = { readonly start?: number | undefined; readonly isOfUser: boolean }

/** The memory that all checkpoints of a context share. Those of the sequence that has been idle longest go first. */
export class CheckpointRoom {
  readonly #bytes: number
  /** The last to take a checkpoint is the last in order. */
  readonly #owners = new Set<Checkpoints>()

  constructor(bytes = mostPointBytes) {
    this.#bytes = bytes
  }

  /** Makes room for this number of bytes by dropping checkpoints; false: it cannot. */
  take(owner: Checkpoints, bytes: number): boolean {
    this.#owners.delete(owner)
    this.#owners.add(owner)
    if (bytes > this.#bytes) return false
    const used = () => [...this.#owners].reduce((sum, each) => sum + each.bytes, 0)
    for (const each of this.#owners) {
      let hasMore = true
      while (hasMore && used() + bytes > this.#bytes) hasMore = each.dropOne()
    }
    return true
  }
}

/** Checkpoints of a sequence, for models whose last tokens llama.cpp cannot erase. */
export class Checkpoints {
  readonly #context: States
  readonly #sequence: number
  readonly #room: CheckpointRoom
  readonly #positionOf: (token: number) => number
  #taken: Checkpoint[] = []
  /** Behind it a draft is computed, which may be rejected. */
  #draft: Checkpoint | undefined
  /** Where the last prompt diverged from the sequence without a checkpoint nearby. */
  #missed = 0
  /** The length of the last prompt that ended with a question. Templates that drop thoughts change what follows with the next question. */
  #asked = 0

  /** `positionOf`: where pictures have a grid, the positions of tokens are not their numbers. */
  constructor(
    context: States,
    sequence: number,
    { room, positionOf = (token) => token }: { readonly room: CheckpointRoom; readonly positionOf?: (token: number) => number },
  ) {
    this.#context = context
    this.#sequence = sequence
    this.#room = room
    this.#positionOf = positionOf
  }

  get bytes(): number {
    return [...this.#taken, ...this.#ofDraft].reduce((sum, { state }) => sum + state.length, 0)
  }

  /**
   * Where to stop for checkpoints while a prompt is read, ascending: where the last prompt diverged, since other conversations share what
   * precedes; in front of the last message, which may be replaced; and near the end, for a repeated prompt, or for the next turn of a
   * template that rewrites answers.
   */
  stopsOf({ tokens, lastMessage }: Stops, from: number): readonly number[] {
    if (lastMessage?.isOfUser === true) this.#asked = tokens
    const stops: number[] = []
    let before = (this.#taken.at(-1)?.last ?? -1) + 1
    for (const at of [this.#missed, lastMessage?.start ?? 0, tokens - 4].sort((a, b) => a - b)) {
      if (at <= from || at >= tokens - 1 || at - before < leastDistance) continue
      stops.push(at)
      before = at
    }
    return stops
  }

  /**
   * The checkpoints worth most: the first two where something begins, which other conversations share, the one where the answer to the last
   * question begins, and the newest two.
   */
  get saved(): readonly Checkpoint[] {
    const first = this.#taken.filter(({ isBetween }) => isBetween !== true).slice(0, 2)
    const answer = this.#taken.findLast(({ last }) => last < this.#asked)
    const newest = this.#taken.slice(-2)
    return this.#taken.filter((checkpoint) => [...first, answer, ...newest].includes(checkpoint))
  }

  /** Those of a stored state take the place of what there is. */
  hold(checkpoints: readonly Checkpoint[]): void {
    this.#taken = []
    this.#asked = 0
    this.#draft = undefined
    for (const checkpoint of checkpoints) if (this.#room.take(this, checkpoint.state.length)) this.#taken.push(checkpoint)
  }

  /** The most tokens of at most this number that `restore` returns to. */
  reach(tokens: number): number {
    const before = [...this.#taken, ...this.#ofDraft].filter(({ last }) => last < tokens)
    return Math.max(0, ...before.map(({ last }) => last + 1))
  }

  get #ofDraft(): readonly Checkpoint[] {
    return this.#draft === undefined ? [] : [this.#draft]
  }

  /** `last`: the number of the sequence's last token. */
  take(last: number, { isBetween = false } = {}): void {
    if (last < 0 || this.#taken.some((checkpoint) => checkpoint.last === last)) return
    const taken = this.#read(last)
    if (taken === undefined) return
    this.#taken.push(isBetween ? { ...taken, isBetween } : taken)
    if (this.#taken.length > mostPoints) this.dropOne()
  }

  /** Takes the checkpoint behind which a draft is computed, in place of the one before; false: there is no room. */
  takeForDraft(last: number): boolean {
    const before = this.#draft?.state
    this.#draft = undefined
    this.#draft = this.#read(last, before)
    return this.#draft !== undefined
  }

  /** `into`: memory that is free to use. */
  #read(last: number, into?: Uint8Array): Checkpoint | undefined {
    const { library, native, memory } = this.#context
    // After a grid, the last position does not show how many tokens there are.
    if (memory === null || library.lastPosition(memory, this.#sequence) !== this.#positionOf(last + 1) - 1) return undefined
    const size = Number(library.stateSize(native, this.#sequence, partialOnly))
    if (!this.#room.take(this, size)) return undefined
    const state = into?.length === size ? into : new Uint8Array(size)
    return Number(library.getState(native, state, size, this.#sequence, partialOnly)) === size ? { last, state } : undefined
  }

  /**
   * Drops the least useful checkpoint: of those that are not worth most, one close to its predecessor, or the oldest; then one that is close,
   * except the newest; then the oldest. Returns false if there is none.
   */
  dropOne(): boolean {
    const { saved } = this
    const isSpare = ({ at }: Placed) => !saved.includes(this.#taken[at] as Checkpoint)
    const isNear = ({ at, tokens }: Placed) => at < this.#taken.length - 1 && tokens < interval
    const placed = this.#taken.map(({ last }, at) => ({
      at,
      tokens: last - (this.#taken[at - 1]?.last ?? Number.NEGATIVE_INFINITY),
    }))
    const found = placed.find((each) => isSpare(each) && isNear(each)) ?? placed.find(isSpare) ?? placed.find(isNear)
    return this.#taken.splice(found?.at ?? 0, 1).length > 0
  }

  takeAtInterval(last: number): void {
    if (last - (this.#taken.at(-1)?.last ?? -1) >= interval) this.take(last, { isBetween: true })
  }

  /** Forgets the checkpoints that contain the token at `start`. */
  forgetFrom(start: number): void {
    if (start === 0) this.#missed = 0
    this.#taken = this.#taken.filter(({ last }) => last < start)
    if (this.#draft !== undefined && this.#draft.last >= start) this.#draft = undefined
  }

  copyFrom(other: Checkpoints | undefined): void {
    this.#taken = other === undefined ? [] : [...other.#taken]
    this.#asked = other === undefined ? 0 : other.#asked
    this.#draft = undefined
  }

  /** Restores the last checkpoint with at most this many tokens. Returns its number of tokens, or 0 without a checkpoint. */
  restore(tokens: number): number {
    const restored = this.#restoreLast(tokens)
    if (tokens - restored >= leastDistance) this.#missed = tokens
    return restored
  }

  #restoreLast(tokens: number): number {
    const { library, native, memory } = this.#context
    const [newest, draft] = [this.#taken.at(-1), this.#draft]
    const found = draft !== undefined && draft.last > (newest?.last ?? -1) ? draft : newest
    if (tokens <= 1 || found === undefined || memory === null) return 0
    const { last, state } = found
    if (Number(library.setState(native, state, state.length, this.#sequence, partialOnly)) !== state.length) return 0
    const end = this.#positionOf(last + 1)
    const isThere =
      library.removeTokens(memory, this.#sequence, end, -1) && library.lastPosition(memory, this.#sequence) === end - 1
    return isThere ? last + 1 : 0
  }
}
