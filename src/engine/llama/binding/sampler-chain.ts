import { type Biases, Candidates, type Choosing } from './candidates.ts'
import type { Context, LogitIndex } from './context.ts'
import type { Library, Sampler, SamplerArgument } from './library.ts'
import type { Model } from './model.ts'
import { fadingPenalties, type OwnStep, reshape } from './own-samplers.ts'
import type { Token } from './tokenizer.ts'

/** A sampler of llama.cpp: the end of its function's name, and the arguments, which include/llama.h describes. */
type NativeStep = {
  readonly type: string
  readonly args: readonly SamplerArgument[]
  /** The tokens before the output that it has seen, too. */
  readonly history?: Iterable<number>
}

export type SamplerStep = OwnStep | NativeStep

/** Samplers whose choice depends on the tokens accepted so far. */
const remembering: ReadonlySet<string> = new Set(['penalties', 'fading', 'dry', 'adaptive_p'])

const candidatesOf = new WeakMap<Model, Candidates>()

/** A sampler of our own, which changes the candidates; `accept` receives each token of the output. */
type Own = { apply(candidates: Candidates): void; accept?(token: Token): void; rewind?(output: readonly Token[]): void }

/** Chooses tokens. Keeps state between tokens: random numbers, and the history for penalties. It must be freed. */
export class SamplerChain {
  readonly #model: Model
  readonly #library: Library
  /** llama.cpp's samplers in chains, with our own between them; usually one chain. */
  readonly #stages: readonly (Sampler | Own)[]
  /** Sorts the candidates for samplers of our own. */
  #sort: Sampler | undefined
  /** llama.cpp's samplers of `remembering`, and the tokens before the output that they have seen. */
  readonly #remembering: { readonly sampler: Sampler; readonly history: Iterable<number> }[] = []
  readonly #biased = new Map<Biases, Sampler>()
  /** The choice depends on the tokens accepted so far. */
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
      if (!('args' in step)) {
        stages.push(this.#createOwn(step))
        continue
      }
      const last = stages.at(-1)
      const chain = typeof last === 'bigint' ? last : this.#library.createChain({ no_perf: true })
      if (chain !== last) stages.push(chain)
      this.#library.addToChain(chain, this.#create(step))
    }
    return stages
  }

  #createOwn(step: OwnStep): Own {
    if (step.type !== 'fading') {
      return { apply: (candidates) => this.#sorted(candidates).reshape((logits) => reshape(logits, step)) }
    }
    const before = [...step.history]
    let seen: number[] = [...before]
    return {
      apply: (candidates) => candidates.penalize(fadingPenalties(seen, step)),
      accept: (token) => void seen.push(token),
      rewind(output) {
        seen = [...before, ...output]
      },
    }
  }

  #sorted(candidates: Candidates): Candidates {
    if (candidates.isSorted) return candidates
    this.#sort ??= this.#library.createSampler('top_k', int(this.#model.size))
    candidates.apply(this.#library, this.#sort)
    return candidates
  }

  #behind(samplers: Sampler, biases: Biases): Sampler {
    const known = this.#biased.get(biases)
    if (known !== undefined) return known
    const chain = this.#library.createChain({ no_perf: true })
    const sampler = this.#library.createSampler('logit_bias', int(this.#model.size), ...biasArguments(biases))
    this.#library.addToChain(chain, sampler)
    this.#library.addToChain(chain, samplers)
    this.#biased.set(biases, chain)
    return chain
  }

  #create({ type, args, history = [] }: NativeStep): Sampler {
    const sampler = this.#library.createSampler(type, ...args)
    for (const token of history) this.#library.accept(sampler, token)
    if (remembering.has(type)) this.#remembering.push({ sampler, history })
    return sampler
  }
}

export function int(value: number): SamplerArgument {
  return ['int', value]
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
  return [int(biases.size), ['void *', memory]]
}
