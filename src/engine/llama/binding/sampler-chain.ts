import { type Biases, Candidates } from './candidates.ts'
import type { Context, LogitIndex } from './context.ts'
import type { Library, Sampler, SamplerArgument } from './library.ts'
import type { Model } from './model.ts'
import type { Token } from './tokenizer.ts'

/** The tokens before the output that penalties count too. */
type WithHistory = { readonly history?: Iterable<number> | undefined }

/** llama.cpp's samplers, whose arguments include/llama.h describes. */
export type SamplerStep =
  | (WithHistory & {
      readonly type: 'penalties'
      /** How many of the last tokens. */
      readonly range: number
      readonly repetition?: number
      readonly frequency?: number
      readonly presence?: number
    })
  | (WithHistory & {
      readonly type: 'dry'
      readonly multiplier: number
      readonly base: number
      readonly allowedLength: number
      readonly range: number
      readonly sequenceBreakers: readonly string[]
    })
  | { readonly type: 'top-k' | 'top-n-sigma'; readonly count: number }
  | { readonly type: 'typical' | 'top-p' | 'min-p'; readonly probability: number }
  | { readonly type: 'xtc'; readonly probability: number; readonly threshold: number; readonly seed: number }
  /** Up to `range` lower or higher, by the entropy to the power of `exponent`. */
  | { readonly type: 'temperature'; readonly value: number; readonly range: number; readonly exponent: number }
  | { readonly type: 'greedy' }
  | { readonly type: 'mirostat'; readonly version: number; readonly tau: number; readonly eta: number; readonly seed: number }
  | { readonly type: 'adaptive-p'; readonly target: number; readonly decay: number; readonly seed: number }
  | { readonly type: 'distribution'; readonly seed: number }

/** The samplers that remove tokens leave one in any case. */
const leastKept = 0
/** The tokens from which the first version of mirostat estimates; llama.cpp's server has the same. */
const mirostatTokens = 100
/** What these choose depends on the tokens that they have accepted. */
const remembering: ReadonlySet<SamplerStep['type']> = new Set(['penalties', 'dry', 'adaptive-p'])

type Choosing = {
  readonly biases?: Biases | undefined
  /** Tokens that are not chosen. */
  readonly forbidden?: Iterable<number> | undefined
}

const candidatesOf = new WeakMap<Model, Candidates>()

/** Chooses tokens. Its state goes from token to token: random numbers, and what penalties have seen. It must be freed. */
export class SamplerChain {
  readonly #model: Model
  readonly #library: Library
  readonly #chain: Sampler
  /** The chain behind biases. */
  readonly #biased = new Map<Biases, Sampler>()
  /** What it chooses depends on the tokens that it has accepted. */
  readonly remembers: boolean

  constructor(model: Model, steps: readonly SamplerStep[]) {
    this.#model = model
    this.#library = model.library
    this.#chain = this.#library.createChain({ no_perf: true })
    this.remembers = steps.some(({ type }) => remembering.has(type))
    for (const step of steps) this.#library.addToChain(this.#chain, this.#create(step))
  }

  /** Chooses a token and accepts it. Equal biases are the same object each time. */
  sample(context: Context, index: LogitIndex, biases?: Biases): Token {
    const chain = biases === undefined || biases.size === 0 ? this.#chain : this.#behind(biases)
    return this.#library.sample(chain, context.native, index) as Token
  }

  /** Chooses a token without accepting it. Throws where none can be chosen. */
  peek(context: Context, index: LogitIndex, choosing: Choosing): Token {
    const candidates = candidatesOf.get(this.#model) ?? new Candidates(this.#model.size)
    candidatesOf.set(this.#model, candidates)
    candidates.set(context.logits(index), choosing)
    const token = candidates.choose(this.#library, this.#chain)
    if (token === undefined) throw new Error('no token could be chosen')
    return token
  }

  /** The output continues with a token, whether this chain chose it or not. */
  accept(token: Token): void {
    this.#library.accept(this.#chain, token)
  }

  free(): void {
    for (const chain of this.#biased.values()) {
      this.#library.removeFromChain(chain, 1)
      this.#library.freeSampler(chain)
    }
    this.#biased.clear()
    this.#library.freeSampler(this.#chain)
  }

  #behind(biases: Biases): Sampler {
    const known = this.#biased.get(biases)
    if (known !== undefined) return known
    const chain = this.#library.createChain({ no_perf: true })
    this.#library.addToChain(chain, this.#init('logit_bias', ['int', this.#model.size], ...biasArguments(biases)))
    this.#library.addToChain(chain, this.#chain)
    this.#biased.set(biases, chain)
    return chain
  }

  #create(step: SamplerStep): Sampler {
    const sampler = this.#createNew(step)
    if ('history' in step) for (const token of step.history ?? []) this.#library.accept(sampler, token)
    return sampler
  }

  #createNew(step: SamplerStep): Sampler {
    switch (step.type) {
      case 'penalties': {
        const { range, repetition = 1, frequency = 0, presence = 0 } = step
        return this.#init('penalties', ['int', this.#model.size], ['int', range], ...floats(repetition, frequency, presence))
      }
      case 'dry': {
        const { multiplier, base, allowedLength, range, sequenceBreakers } = step
        const breakers: SamplerArgument[] = [
          [this.#library.textsType, sequenceBreakers],
          ['size_t', sequenceBreakers.length],
        ]
        return this.#init(
          'dry',
          ['void *', this.#model.vocabulary],
          ...floats(multiplier, base),
          ['int', allowedLength],
          ['int', range],
          ...breakers,
        )
      }
      case 'top-k':
        return this.#init('top_k', ['int', step.count])
      case 'top-n-sigma':
        return this.#init('top_n_sigma', ...floats(step.count))
      case 'typical':
        return this.#init('typical', ...floats(step.probability), ['size_t', leastKept])
      case 'top-p':
        return this.#init('top_p', ...floats(step.probability), ['size_t', leastKept])
      case 'min-p':
        return this.#init('min_p', ...floats(step.probability), ['size_t', leastKept])
      case 'xtc':
        return this.#init('xtc', ...floats(step.probability, step.threshold), ['size_t', 0], ['uint32_t', step.seed])
      case 'temperature':
        return this.#init('temp_ext', ...floats(step.value, step.range, step.exponent))
      case 'mirostat':
        return this.#mirostat(step)
      case 'adaptive-p':
        return this.#init('adaptive_p', ...floats(step.target, step.decay), ['uint32_t', step.seed])
      case 'greedy':
        return this.#init('greedy')
      case 'distribution':
        return this.#init('dist', ['uint32_t', step.seed])
    }
  }

  #mirostat({ version, tau, eta, seed }: Extract<SamplerStep, { type: 'mirostat' }>): Sampler {
    const learning: SamplerArgument[] = [['uint32_t', seed], ...floats(tau, eta)]
    return version === 1
      ? this.#init('mirostat', ['int', this.#model.size], ...learning, ['int', mirostatTokens])
      : this.#init('mirostat_v2', ...learning)
  }

  #init(name: string, ...args: readonly SamplerArgument[]): Sampler {
    return this.#library.createSampler(name, ...args)
  }
}

function floats(...values: readonly number[]): SamplerArgument[] {
  return values.map((value) => ['float', value])
}

/** As `llama_logit_bias[]`: llama.cpp copies them. */
function biasArguments(biases: Biases): SamplerArgument[] {
  const memory = new DataView(new ArrayBuffer(8 * biases.size))
  let at = 0
  for (const [token, bias] of biases) {
    memory.setInt32(at, token, true)
    memory.setFloat32(at + 4, bias, true)
    at += 8
  }
  return [
    ['int', biases.size],
    ['void *', memory],
  ]
}
