import { type Biases, Candidates, type Choosing } from './candidates.ts'
import type { Context, LogitIndex } from './context.ts'
import type { Library, Sampler, SamplerArgument } from './library.ts'
import type { Model } from './model.ts'
import { fadingPenalties, type OwnStep, reshapeOf } from './own-samplers.ts'
import type { Token } from './tokenizer.ts'

/** The tokens before the output that penalties count too. */
type WithHistory = { readonly history?: Iterable<number> | undefined }

/** llama.cpp's samplers, whose arguments include/llama.h describes, and those that it lacks. */
export type SamplerStep =
  | OwnStep
  /** A repetition penalty that fades over `decay` tokens before its range. */
  | (WithHistory & { readonly type: 'fading'; readonly range: number; readonly repetition: number; readonly decay: number })
  | NativeStep

type NativeStep =
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
const remembering: ReadonlySet<SamplerStep['type']> = new Set(['penalties', 'fading', 'dry', 'adaptive-p'])

const candidatesOf = new WeakMap<Model, Candidates>()

/** What a sampler of our own does with the candidates; `accept` hears of each token. */
type Own = { apply(candidates: Candidates): void; accept?(token: Token): void; rewind?(output: readonly Token[]): void }

/** Chooses tokens. Its state goes from token to token: random numbers, and what penalties have seen. It must be freed. */
export class SamplerChain {
  readonly #model: Model
  readonly #library: Library
  /** llama.cpp's samplers in chains, with our own between them; usually one chain. */
  readonly #stages: readonly (Sampler | Own)[]
  /** Sorts the candidates for samplers of our own. */
  #sort: Sampler | undefined
  /** llama.cpp's samplers of `remembering`, and the tokens before the output that they have seen. */
  readonly #remembering: { readonly sampler: Sampler; readonly history: Iterable<number> }[] = []
  /** The chain behind biases. */
  readonly #biased = new Map<Biases, Sampler>()
  /** What it chooses depends on the tokens that it has accepted. */
  readonly remembers: boolean

  constructor(model: Model, steps: readonly SamplerStep[]) {
    this.#model = model
    this.#library = model.library
    this.remembers = steps.some(({ type }) => remembering.has(type))
    this.#stages = this.#toStages(steps)
  }

  /** Chooses a token and accepts it. Equal biases are the same object each time. */
  sample(context: Context, index: LogitIndex, biases?: Biases): Token {
    const [chain] = this.#stages
    if (this.#stages.length > 1 || typeof chain !== 'bigint') {
      const token = this.peek(context.logits(index), { biases })
      this.accept(token)
      return token
    }
    return this.#library.sample(
      biases === undefined || biases.size === 0 ? chain : this.#behind(chain, biases),
      context.native,
      index,
    ) as Token
  }

  /** Chooses a token without accepting it. Throws where none can be chosen. */
  peek(logits: Float32Array, choosing: Choosing): Token {
    const candidates = candidatesOf.get(this.#model) ?? new Candidates(this.#model.size)
    candidatesOf.set(this.#model, candidates)
    if (candidates.set(logits, choosing) === 0) throw new Error('no token is left to choose')
    for (const stage of this.#stages) {
      if (typeof stage === 'bigint') candidates.apply(this.#library, stage)
      else stage.apply(candidates)
    }
    const token = candidates.chosen
    if (token === undefined) throw new Error('no token could be chosen')
    return token
  }

  /** The output continues with a token, whether this chain chose it or not. */
  accept(token: Token): void {
    for (const stage of this.#stages) {
      if (typeof stage === 'bigint') this.#library.accept(stage, token)
      else stage.accept?.(token)
    }
  }

  /** The output has only these tokens: later ones were taken back. */
  rewind(output: readonly Token[]): void {
    for (const { sampler, history } of this.#remembering) {
      this.#library.resetSampler(sampler)
      for (const token of [...history, ...output]) this.#library.accept(sampler, token)
    }
    for (const stage of this.#stages) if (typeof stage !== 'bigint') stage.rewind?.(output)
  }

  free(): void {
    for (const chain of this.#biased.values()) {
      this.#library.removeFromChain(chain, 1)
      this.#library.freeSampler(chain)
    }
    this.#biased.clear()
    for (const stage of this.#stages) if (typeof stage === 'bigint') this.#library.freeSampler(stage)
    if (this.#sort !== undefined) this.#library.freeSampler(this.#sort)
  }

  #toStages(steps: readonly SamplerStep[]): (Sampler | Own)[] {
    const stages: (Sampler | Own)[] = []
    for (const step of steps) {
      const own = this.#createOwn(step)
      if (own !== undefined) {
        stages.push(own)
        continue
      }
      const last = stages.at(-1)
      const chain = typeof last === 'bigint' ? last : this.#library.createChain({ no_perf: true })
      if (chain !== last) stages.push(chain)
      this.#library.addToChain(chain, this.#create(step as NativeStep))
    }
    return stages
  }

  #createOwn(step: SamplerStep): Own | undefined {
    switch (step.type) {
      case 'top-a':
      case 'tail-free':
      case 'smoothing':
      case 'skew': {
        const reshape = reshapeOf(step)
        return { apply: (candidates) => this.#sorted(candidates).reshape(reshape) }
      }
      case 'fading': {
        const { range, repetition: penalty, decay } = step
        const before = [...(step.history ?? [])]
        let seen: number[] = [...before]
        return {
          apply: (candidates) => candidates.penalize(fadingPenalties(seen, { penalty, range, decay })),
          accept: (token) => void seen.push(token),
          rewind(output) {
            seen = [...before, ...output]
          },
        }
      }
      default:
        return undefined
    }
  }

  #sorted(candidates: Candidates): Candidates {
    if (candidates.isSorted) return candidates
    this.#sort ??= this.#init('top_k', ['int', this.#model.size])
    candidates.apply(this.#library, this.#sort)
    return candidates
  }

  #behind(samplers: Sampler, biases: Biases): Sampler {
    const known = this.#biased.get(biases)
    if (known !== undefined) return known
    const chain = this.#library.createChain({ no_perf: true })
    this.#library.addToChain(chain, this.#init('logit_bias', ['int', this.#model.size], ...biasArguments(biases)))
    this.#library.addToChain(chain, samplers)
    this.#biased.set(biases, chain)
    return chain
  }

  #create(step: NativeStep): Sampler {
    const sampler = this.#createNew(step)
    const history = 'history' in step ? (step.history ?? []) : []
    for (const token of history) this.#library.accept(sampler, token)
    if (remembering.has(step.type)) this.#remembering.push({ sampler, history })
    return sampler
  }

  #createNew(step: NativeStep): Sampler {
    switch (step.type) {
      case 'penalties': {
        const { range, repetition = 1, frequency = 0, presence = 0 } = step
        return this.#init('penalties', ['int', this.#model.size], ['int', range], ...floats(repetition, frequency, presence))
      }
      case 'dry': {
        const { multiplier, base, allowedLength, range, sequenceBreakers } = step
        const breakers: SamplerArgument[] = [
          ['str *', sequenceBreakers],
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

  #mirostat({ version, tau, eta, seed }: Extract<NativeStep, { type: 'mirostat' }>): Sampler {
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
