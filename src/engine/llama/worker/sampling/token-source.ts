import { AppError } from '../../../../contract/errors.ts'
import type { Biases } from '../../binding/candidates.ts'
import type { LogitIndex } from '../../binding/context.ts'
import type { Model } from '../../binding/model.ts'
import { SamplerChain, type SamplerStep } from '../../binding/sampler-chain.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { readLast, type SequenceReading } from '../rounds/prefill.ts'
import type { ConstrainedOutput } from './constrained-output.ts'
import { type Guidance, guided } from './guidance.ts'
import { scoreToken, type TokenScore } from './scores.ts'
import type { Speculation } from './speculation.ts'

/** A generated token; `score` is present when log-probabilities were requested. */
export type SourcedToken = {
  readonly token: Token
  readonly score?: TokenScore | undefined
  /** The server inserted it. */
  readonly isInserted?: true
}

/** The tokens of one choice, one at a time. It must be closed. */
export type TokenSource = {
  /**
   * Computes `unread`, on a sequence that contains all tokens before them, and returns the next token; `end` when the model has ended
   * its turn, `over` when the run has ended meanwhile. The sequence may change between calls. With speculation it may contain tokens that
   * later calls return.
   */
  next(sequence: Sequence, unread: readonly Token[], guidance?: Guidance): Promise<SourcedToken | 'end' | 'over'>
  /** The output has only these tokens: later ones were taken back. Not with speculation. */
  rewind(output: readonly Token[]): void
  close(): void
}

export type Steering = {
  readonly steps: readonly SamplerStep[]
  /** The bias after this many tokens of output. */
  readonly biases: (outputTokens: number) => Biases
  /** The number of top log-probabilities; absent: no log-probabilities. */
  readonly topLogprobs?: number | undefined
  readonly constrained?: ConstrainedOutput | undefined
  /** The next token to insert instead of a sampled one, if any. */
  readonly inserted?: (() => Token | undefined) | undefined
  readonly speculation?: Speculation | undefined
  /** The most tokens of output. */
  readonly limit?: number
  /** Tokens that may not be chosen at this position of the output. */
  readonly forbidden?: ((outputTokens: number) => ReadonlySet<Token> | undefined) | undefined
}

/**
 * Samples tokens step by step. The state of the sampling (random numbers, penalties, grammar) is kept here: the same seed gives the same
 * text, with log-probabilities and without, on one sequence and on several.
 */
export function openTokenSource(
  { model, reading }: { readonly model: Model; readonly reading: Omit<SequenceReading, 'sequence'> },
  {
    steps,
    biases: biasesAt,
    topLogprobs,
    constrained,
    inserted,
    speculation,
    forbidden,
    limit = Number.POSITIVE_INFINITY,
  }: Steering,
): TokenSource {
  const chain = new SamplerChain(model, steps)
  /** The tokens of the output, with those of a draft. */
  let count = 0
  const choose = ({ context }: Sequence, index: LogitIndex, guidance: Guidance | undefined): Token => {
    const biases = biasesAt(count)
    const taboo = forbidden?.(count)
    const logits = () => (guidance === undefined ? context.logits(index) : guided(context.logits(index), guidance))
    const isPlain = taboo === undefined && guidance === undefined
    if (constrained === undefined && isPlain) return chain.sample(context, index, biases)
    // Most tokens that are sampled freely are allowed, and finding all allowed ones takes longer.
    const isPeeked = chain.remembers || !isPlain
    const free = isPeeked ? chain.peek(logits(), { biases, forbidden: taboo }) : chain.sample(context, index, biases)
    const isAllowed = (token: Token) =>
      taboo?.has(token) !== true && biases.get(token) !== Number.NEGATIVE_INFINITY && constrained?.allows(token) !== false
    const token = isAllowed(free)
      ? free
      : chooseAllowed(isAllowed, () => chain.peek(logits(), { biases, allowed: constrained?.allowed(), forbidden: taboo }))
    if (isPeeked) chain.accept(token)
    return token
  }
  const insert = (token: Token): Token => {
    chain.accept(token)
    return token
  }
  /** Tokens of a draft that were sampled and not returned yet. */
  let sampled: SourcedToken[] = []
  const sample = async (
    sequence: Sequence,
    unread: readonly Token[],
    guidance: Guidance | undefined,
  ): Promise<SourcedToken[] | 'over'> => {
    const fixed = inserted?.()
    const read = (index: LogitIndex): SourcedToken => {
      const token = fixed === undefined ? choose(sequence, index, guidance) : insert(fixed)
      const score = topLogprobs === undefined ? undefined : scoreToken(sequence.context.logits(index), token, topLogprobs)
      if (!model.isEogToken(token)) {
        constrained?.accept(token)
        speculation?.push(token)
        count += 1
      }
      return { token, score, ...(fixed !== undefined && { isInserted: true }) }
    }
    const [last, ...others] = unread
    if (speculation === undefined || last === undefined || others.length > 0) {
      const one = await readLast(unread, { sequence, ...reading }, read)
      return one === 'over' ? 'over' : [one]
    }
    const room = Math.min(sequence.context.contextSize - sequence.nextTokenIndex, limit - count) - 1
    return speculation.compute({ sequence, last, room, ...reading }, read)
  }
  return {
    async next(sequence, unread, guidance) {
      if (sampled.length === 0) {
        const more = await sample(sequence, unread, guidance)
        if (more === 'over') return 'over'
        sampled = more
      }
      const next = sampled.shift() as SourcedToken
      return model.isEogToken(next.token) ? 'end' : next
    },
    rewind(output) {
      count = output.length
      chain.rewind(output)
      constrained?.rewind(output)
    },
    close: () => chain.free(),
  }
}

function chooseAllowed(isAllowed: (token: Token) => boolean, sample: () => Token): Token {
  let cause: unknown
  try {
    const token = sample()
    // Without a possible token, llama.cpp samples any.
    if (isAllowed(token)) return token
  } catch (error) {
    if (error instanceof AppError) throw error
    cause = error
  }
  const message =
    'no token is possible here: the constraint of the output and what is banned (such as by logit_bias or banned_strings) contradict'
  throw new AppError('invalid-request', `${message} each other`, { cause })
}
