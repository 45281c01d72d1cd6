import type { LruMap } from '../../../../base/lru-map.ts'
import { AppError } from '../../../../contract/errors.ts'
import { type EffortMeter, type GrammarMachine, type MachineState, spend } from '../../../../grammar/run/machine.ts'
import { compileForRequest } from '../../../../threads/grammar-failure.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { type PartialChar, readBytes } from './partial-char.ts'
import type { TokenTrie } from './token-trie.ts'
import type { TokenBytes } from './vocabulary.ts'

/** A grammar that is being run, shared by all outputs that it constrains. */
export type SharedMachine = {
  current: GrammarMachine
  renew(): GrammarMachine
  /** Sets of allowed tokens, one bit for each token, by state. */
  readonly allowed: LruMap<MachineState, Uint32Array>
}

/** The tokens of a model, as a constraint sees them. */
export type ConstrainedVocabulary = {
  readonly trie: TokenTrie
  readonly size: number
  /** Control tokens that add their text to the output. */
  readonly visibleTokens: readonly TokenBytes[]
  readonly endTokens: readonly Token[]
  bytesOf(token: Token): Uint8Array
}

/** The sets of allowed tokens that are kept for each grammar. */
export const keptSets = 64

/**
 * One output that a grammar constrains. All work is metered, so that no grammar delays other requests: an output has credit for some
 * complete looks at the vocabulary, and each token adds to it. Methods throw `unsupported-field` when the credit is used up.
 */
export class ConstrainedOutput {
  readonly #shared: SharedMachine
  readonly #vocabulary: ConstrainedVocabulary
  readonly #credit: { readonly most: number; readonly perToken: number }
  readonly #meter: EffortMeter
  #machine: GrammarMachine
  #state: MachineState
  #partial: PartialChar | undefined

  constructor(shared: SharedMachine, vocabulary: ConstrainedVocabulary) {
    this.#shared = shared
    this.#vocabulary = vocabulary
    const looks = vocabulary.trie.codes.length
    this.#credit = { most: 1_000_000 + 8 * looks, perToken: 100_000 + 2 * looks }
    this.#meter = { left: this.#credit.most }
    this.#machine = shared.current
    this.#state = compileForRequest(() => this.#machine.start(this.#meter))
  }

  /** Whether the output may end here. */
  get isComplete(): boolean {
    return this.#state.isComplete && this.#partial === undefined
  }

  allows(token: Token): boolean {
    if (this.#vocabulary.endTokens.includes(token)) return this.isComplete
    return compileForRequest(() => this.#read(this.#vocabulary.bytesOf(token)) !== undefined)
  }

  /** Continues after a token. */
  accept(token: Token): void {
    this.#meter.left = Math.min(this.#credit.most, this.#meter.left + this.#credit.perToken)
    const next = compileForRequest(() => this.#read(this.#vocabulary.bytesOf(token)))
    if (next === undefined) throw new Error('the constraint of the output does not allow this token')
    this.#state = next.state
    this.#partial = next.partial
    this.#renewMachine()
  }

  /** The output has only these tokens: later ones were taken back. */
  rewind(output: readonly Token[]): void {
    this.#state = compileForRequest(() => this.#machine.start(this.#meter))
    this.#partial = undefined
    for (const token of output) this.accept(token)
  }

  /** The certain beginning of the rest, at most `most` characters. */
  certain(most: number): string {
    return compileForRequest(() => {
      let [state, text]: [MachineState | undefined, string] = [this.#state, '']
      while (state !== undefined && text.length < most && this.#partial === undefined) {
        const code = this.#machine.onlyNext(state, this.#meter)
        if (code === undefined) break
        text += String.fromCodePoint(code)
        state = this.#machine.step(state, code, this.#meter)
      }
      return text
    })
  }

  /** Every token that can follow, one bit for each token. Throws `engine-failed` if there is none. */
  allowed(): Uint32Array {
    const allowed = compileForRequest(() => this.#allowed())
    if (allowed.some((bits) => bits !== 0)) return allowed
    throw new AppError('engine-failed', "no token of the model's vocabulary can continue the output within its constraint")
  }

  #read(bytes: Uint8Array): { readonly state: MachineState; readonly partial: PartialChar | undefined } | undefined {
    if (bytes.length === 0 || bytes.includes(0)) return undefined
    return readBytes({ machine: this.#machine, meter: this.#meter }, { state: this.#state, partial: this.#partial }, bytes)
  }

  #allowed(): Uint32Array {
    const find = () => this.#findAllowed()
    return this.#partial === undefined ? this.#shared.allowed.find(this.#state, find) : find()
  }

  #findAllowed(): Uint32Array {
    const { trie, size, visibleTokens, endTokens } = this.#vocabulary
    const allowed = new Uint32Array(Math.ceil(size / 32))
    const allow = (token: number) => {
      allowed[token >> 5] = (allowed[token >> 5] as number) | (1 << (token & 31))
    }
    if (this.#partial === undefined) this.#walk(allow)
    for (const tokens of [trie.broken, visibleTokens]) {
      for (const { token, bytes } of tokens) {
        spend(this.#meter, bytes.length)
        if (this.#read(bytes) !== undefined) allow(token)
      }
    }
    if (this.isComplete) endTokens.forEach(allow)
    return allowed
  }

  /** Follows all texts of the vocabulary together: a common beginning that is ruled out is read once. */
  #walk(allow: (token: number) => void): void {
    const { codes, depths, ends, tokens, sameText, deepest } = this.#vocabulary.trie
    const states: MachineState[] = Array.from({ length: deepest + 2 }, () => this.#state)
    for (let node = 0; node < codes.length; ) {
      spend(this.#meter, 1)
      const depth = depths[node] as number
      const next = this.#machine.step(states[depth] as MachineState, codes[node] as number, this.#meter)
      if (next === undefined) {
        node = ends[node] as number
        continue
      }
      states[depth + 1] = next
      for (let token = tokens[node] as number; token !== -1; token = sameText[token] as number) allow(token)
      node++
    }
  }

  /** States of a machine that has used its memory are dropped, except the one in use. */
  #renewMachine(): void {
    if (this.#shared.current.isFull) this.#shared.current = this.#shared.renew()
    if (this.#machine === this.#shared.current) return
    this.#machine = this.#shared.current
    this.#state = compileForRequest(() => this.#machine.adopt(this.#state, this.#meter))
  }
}
