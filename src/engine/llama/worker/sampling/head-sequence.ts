import type { Context, LogitIndex } from '../../binding/context.ts'
import type { Hidden, HiddenStates } from '../../binding/hidden-states.ts'
import type { Follower } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { Turns } from '../../binding/turns.ts'
import type { Rounds } from '../rounds/rounds.ts'
import { likeliest, mostProbable } from './scores.ts'

/** Fewer unread tokens wait for the next draft, whose first pass reads them. */
const mostUnread = 64

/** What all sequences of a head share. */
export type Heads = {
  readonly context: Context
  readonly hidden: HiddenStates
  /** The length of what the model has computed for a token, which a head of another file fuses before it reads it. */
  readonly source: Pick<Hidden, 'length'>
  readonly fuse?: (vectors: readonly Float32Array[]) => Promise<readonly Float32Array[]>
  /** It reads a token at the position of the one before. */
  readonly isBehind?: true
  /** The logits of a pass that llama.cpp computes; where it computes all, it gives those of the first tokens for others. */
  readonly wanted: 'last' | 'all'
  readonly rounds: Rounds
  /** Several heads predict one token each; one alone predicts all, from its own hidden states. */
  readonly layers: number
  /** Several heads are computed one after the other. */
  readonly turns: Turns
  /** Whether prompts are read for later drafts. */
  readonly isOn: () => boolean
  readonly onError: (error: unknown) => void
}

export type Drafting = {
  /** The tokens that the sequence has computed. */
  readonly known: number
  readonly most: number
  readonly minProbability: number
  readonly isOver: () => boolean
}

export type Guess = { readonly token: Token; readonly hidden: Float32Array }

type GuessOptions = Pick<Drafting, 'minProbability'> & { readonly index: LogitIndex }

/** The most probable token there, with its hidden state, unless it is too improbable. */
export function guessOf({ context, hidden }: Heads, { index, minProbability }: GuessOptions): Guess | undefined {
  const logits = context.logits(index)
  const { token, probability } = minProbability > 0 ? mostProbable(logits) : { token: likeliest(logits), probability: 1 }
  return probability < minProbability ? undefined : { token, hidden: hidden.copy(index) }
}

/** Tokens with their vectors, to be computed from the token of this number on. */
type Step = {
  readonly from: number
  readonly tokens: readonly Token[]
  readonly vectors: readonly Float32Array[]
  readonly layer: number
}

/**
 * The text of one sequence as a head reads it: each token together with what the model has computed for the one before. What it lacks of a
 * text, such as pictures or a restored prefix, costs acceptance only: it begins anew behind them.
 */
export class HeadSequence implements Follower {
  readonly id: number
  readonly #heads: Heads
  /** The number of the first token that it knows, and the difference between positions and numbers. */
  #start = 0
  #shift = 0
  /** From `#start` on. */
  #tokens: Token[] = []
  /** The hidden states of the last of these. */
  #hidden: Float32Array[] = []
  /** The head has read the tokens before this number, the last one perhaps before the model has. */
  #read = 0
  #lastRead: Token | undefined
  /** Where its memory ends: behind what was read and guessed. */
  #memoryEnd: number | 'unknown' = 'unknown'

  constructor(id: number, heads: Heads) {
    this.id = id
    this.#heads = heads
  }

  follow(tokens: readonly Token[], { start, position, hidden }: Parameters<Follower['follow']>[1]): void {
    const isNext = start >= this.#start && start <= this.#end && position - start === this.#shift
    if (!isNext || !this.#heads.isOn()) this.#restart(start, position)
    const isRead = start === this.#end && this.#read > start && tokens[0] === this.#lastRead
    this.#trim(start)
    if (!isRead) this.#read = Math.max(this.#first, Math.min(this.#read, start))
    const { length } = this.#heads.source
    for (const [index, token] of tokens.entries()) {
      this.#tokens.push(token)
      this.#hidden.push(hidden.subarray(index * length, (index + 1) * length))
    }
  }

  async keepUp(): Promise<void> {
    if (!this.#heads.isOn() || this.#end - this.#read <= mostUnread) return
    await this.#trying(async () => {
      const unread = await this.#fused(this.#unread())
      for (let layer = 0; layer < this.#heads.layers; layer++) await this.#compute({ ...unread, layer })
      this.#read = this.#end
      this.#hidden = this.#hidden.slice(-1)
    })
  }

  /** Guesses what follows the tokens that the sequence has computed, and this one. */
  async draft(last: Token, { known, ...drafting }: Drafting): Promise<readonly Token[]> {
    if (known < this.#start || known > this.#end) return []
    this.#trim(known)
    this.#read = Math.max(this.#first, Math.min(this.#read, known))
    const newest = this.#hidden.at(-1)
    if (newest === undefined) return []
    const drafted: Token[] = []
    await this.#trying(async () => {
      const unread = this.#unread()
      const text = await this.#fused({ ...unread, tokens: [...unread.tokens, last], vectors: [...unread.vectors, newest] })
      await (this.#heads.layers > 1 ? this.#draftInChain(text, drafting, drafted) : this.#draft(text, drafting, drafted))
      this.#read = known + 1
      this.#lastRead = last
      this.#hidden = [newest]
    })
    return drafted
  }

  copyFrom(other: Follower): void {
    this.forget()
    const { context } = this.#heads
    const { memory, library } = context
    if (!(other instanceof HeadSequence) || memory === null || other.#memoryEnd === 'unknown') return
    const read = Math.min(other.#read, other.#end)
    this.#start = other.#start
    this.#shift = other.#shift
    this.#tokens = [...other.#tokens]
    this.#hidden = [...other.#hidden]
    this.#read = read
    this.#memoryEnd = read
    void context.betweenPasses(() => {
      library.copyTokens(memory, other.id, this.id, -1, -1)
      library.removeTokens(memory, this.id, this.#positionOf(read), -1)
    })
  }

  forget(): void {
    this.#restart(0, 0)
  }

  get #end(): number {
    return this.#start + this.#tokens.length
  }

  /** The first token that it reads: where a token has the position of the one before, the first of all has none. */
  get #first(): number {
    return this.#start + (this.#positionOf(this.#start) < 0 ? 1 : 0)
  }

  #positionOf(token: number): number {
    return token + this.#shift - (this.#heads.isBehind === true ? 1 : 0)
  }

  #restart(start: number, position: number): void {
    this.#start = start
    this.#shift = position - start
    this.#tokens = []
    this.#hidden = []
    this.#read = this.#first
    this.#memoryEnd = 'unknown'
  }

  /** Forgets the tokens from this number on. */
  #trim(end: number): void {
    const removed = this.#end - end
    if (removed <= 0) return
    this.#tokens.length -= removed
    this.#hidden.length = Math.max(0, this.#hidden.length - removed)
  }

  /** The tokens that the head lacks, each with the hidden state before it; without one, such as of the first, zeros. */
  #unread(): Omit<Step, 'layer'> {
    const from = this.#read
    const tokens = this.#tokens.slice(from - this.#start)
    const firstHidden = this.#end - this.#hidden.length
    const none = new Float32Array(this.#heads.source.length)
    return { from, tokens, vectors: tokens.map((_, index) => this.#hidden[from + index - 1 - firstHidden] ?? none) }
  }

  async #fused(text: Omit<Step, 'layer'>): Promise<Omit<Step, 'layer'>> {
    const { fuse } = this.#heads
    return fuse === undefined ? text : { ...text, vectors: await fuse(text.vectors) }
  }

  async #draft(text: Omit<Step, 'layer'>, { most, ...limits }: Omit<Drafting, 'known'>, drafted: Token[]): Promise<void> {
    let step = { ...text, layer: 0 }
    while (drafted.length < most && !limits.isOver()) {
      const guess: Guess | undefined = await this.#guess(step, limits)
      if (guess === undefined) break
      drafted.push(guess.token)
      step = { from: step.from + step.tokens.length, tokens: [guess.token], vectors: [guess.hidden], layer: 0 }
    }
  }

  /** Each head reads the text with the guesses of those before it. */
  async #draftInChain(text: Omit<Step, 'layer'>, { most, ...limits }: Omit<Drafting, 'known'>, drafted: Token[]): Promise<void> {
    const { layers } = this.#heads
    let step = { ...text, layer: 0 }
    let isOpen = true
    for (; step.layer < layers; step = { ...step, layer: step.layer + 1 }) {
      isOpen &&= drafted.length < most && !limits.isOver()
      const guess: Guess | undefined = isOpen ? await this.#guess(step, limits) : undefined
      // The others read the text for later drafts.
      if (!isOpen) await this.#compute({ ...text, layer: step.layer })
      isOpen = guess !== undefined
      if (guess === undefined) continue
      drafted.push(guess.token)
      step = { ...step, tokens: [...step.tokens, guess.token], vectors: [...step.vectors, guess.hidden] }
    }
  }

  async #guess(step: Step, { minProbability }: Pick<Drafting, 'minProbability'>): Promise<Guess | undefined> {
    const isLast = (at: number) => at === step.tokens.length - 1
    const guesses = await this.#compute(step, (index, at) =>
      isLast(at) ? guessOf(this.#heads, { index, minProbability }) : undefined,
    )
    return guesses.at(-1)
  }

  async #compute<T>({ from, tokens, vectors, layer }: Step, read?: (index: LogitIndex, at: number) => T): Promise<T[]> {
    const { context, hidden, rounds, layers } = this.#heads
    if (tokens.length === 0) return []
    if (this.#memoryEnd !== from) await context.betweenPasses(() => this.#erase(from))
    if (layers > 1) hidden.layer = layer
    const member = {
      id: this.id,
      nextTokenIndex: from,
      nextPosition: this.#positionOf(from),
      append: (computed: readonly Token[]) => {
        member.nextTokenIndex += computed.length
        member.nextPosition += computed.length
      },
      dropUnknown: () => {
        this.#memoryEnd = 'unknown'
      },
    }
    const all = new Float32Array(tokens.length * hidden.length)
    for (const [index, vector] of vectors.entries()) all.set(vector, index * hidden.length)
    const wanted = read === undefined ? 'none' : this.#heads.wanted
    const results = await rounds.join('tokens', () =>
      context.compute(member, { tokens, vectors: all, wanted, read: (index, at) => read?.(index, at) as T }),
    )
    this.#memoryEnd = from + tokens.length
    return results
  }

  #erase(from: number): void {
    const { library, memory } = this.#heads.context
    if (memory === null) return
    if (this.#memoryEnd === 'unknown') library.removeTokens(memory, this.id, -1, -1)
    else if (!library.removeTokens(memory, this.id, this.#positionOf(from), -1)) throw new Error('it cannot take back tokens')
  }

  async #trying(work: () => Promise<void>): Promise<void> {
    try {
      await (this.#heads.layers > 1 ? this.#heads.turns.take(work) : work())
    } catch (error) {
      this.#heads.onError(error)
      this.forget()
    }
  }
}
