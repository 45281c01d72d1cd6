import { type LlamaModel, type SequenceEvaluateOptions, type Token, TokenBias } from 'node-llama-cpp'
import type { ResolvedSampling } from '../channel/ipc.ts'

/** The tokens of one generation so far, for the penalties that look back at them. */
export type History = { readonly prompt: Uint32Array; readonly output: readonly Token[] }

/**
 * What decides the bias: `banned` tokens are never chosen. `held` ones are not before the output has so many; as a last resort
 * they are when nothing else may be.
 */
type BiasSource = {
  readonly model: LlamaModel
  readonly history: History
  readonly banned: readonly Token[]
  readonly held?: Held | undefined
}

type Held = { readonly tokens: readonly Token[]; readonly until: number; readonly asLastResort: boolean }

/** Lower than anything that a model, a bias and the penalties make together, and yet above what a grammar forbids. */
const lastResort = -1e9

type EvaluateOptions = Pick<
  SequenceEvaluateOptions,
  'temperature' | 'topP' | 'topK' | 'minP' | 'seed' | 'xtc' | 'dryRepeatPenalty' | 'repeatPenalty' | 'tokenBias'
>

/** Our sampling in node-llama-cpp's terms. `history.output` is read anew for every token. */
export function evaluateOptions(sampling: ResolvedSampling, source: BiasSource & { contextLength: number }): EvaluateOptions {
  const { temperature, topP, topK, minP, seed, xtc, dry } = sampling
  const tokenBias = createTokenBias(sampling, source)
  return {
    temperature,
    topP,
    topK,
    minP,
    seed,
    ...(xtc !== undefined && { xtc }),
    ...(dry !== undefined && {
      dryRepeatPenalty: {
        strength: dry.multiplier,
        base: dry.base,
        allowedLength: dry.allowedLength,
        // `null` should be the whole context, but this llama.cpp takes it for 0, which is off (node-llama-cpp 3.22.1).
        lastTokens: withinContext(dry.range, source.contextLength),
        sequenceBreakers: dry.sequenceBreakers,
      },
    }),
    ...(sampling.repetitionPenalty !== 1 &&
      sampling.repetitionRange !== 0 && {
        repeatPenalty: {
          penalty: sampling.repetitionPenalty,
          punishTokens: () => lastTokens(source.history, withinContext(sampling.repetitionRange, source.contextLength)),
          maxPunishTokens: withinContext(sampling.repetitionRange, source.contextLength),
        },
      }),
    ...(tokenBias !== undefined && { tokenBias }),
  }
}

/** -1 is the whole context. */
function withinContext(range: number, contextLength: number): number {
  return range < 0 ? contextLength : Math.min(range, contextLength)
}

/** node-llama-cpp punishes all of what it is given, even when that is more than `maxPunishTokens`. */
function lastTokens({ prompt, output }: History, count: number): Token[] {
  const fromPrompt = Math.max(0, count - output.length)
  return [...(prompt.slice(Math.max(0, prompt.length - fromPrompt)) as Iterable<number>), ...output.slice(-count)] as Token[]
}

/**
 * Adds to logits: the caller's bias; OpenAI's presence and frequency penalties, which count the output only (llama.cpp's
 * own would count the prompt as well); and the ban on some tokens.
 */
function createTokenBias(
  { logitBias, presencePenalty, frequencyPenalty }: ResolvedSampling,
  { model, history, banned, held }: BiasSource,
): (() => TokenBias) | TokenBias | undefined {
  const fixed = new Map<Token, number>()
  for (const [id, bias] of logitBias) {
    // -100 and 100 are OpenAI's words for "never" and "always".
    fixed.set(id as Token, bias <= -100 ? Number.NEGATIVE_INFINITY : bias)
  }
  for (const token of banned) fixed.set(token, Number.NEGATIVE_INFINITY)
  const early = new Map(fixed)
  const hold = held?.asLastResort === true ? lastResort : Number.NEGATIVE_INFINITY
  for (const token of held?.tokens ?? []) early.set(token, Math.min(hold, fixed.get(token) ?? hold))
  const fixedNow = () => (history.output.length < (held?.until ?? 0) ? early : fixed)
  if (presencePenalty === 0 && frequencyPenalty === 0) {
    if (held === undefined) return fixed.size === 0 ? undefined : biasOf(model, fixed)
    const biases = new Map([fixed, early].map((each) => [each, biasOf(model, each)]))
    return () => biases.get(fixedNow()) as TokenBias
  }

  const penalties = new Map<Token, number>()
  let counted = 0
  return () => {
    for (; counted < history.output.length; counted++) {
      const token = history.output[counted] as Token
      penalties.set(token, (penalties.get(token) ?? presencePenalty) + frequencyPenalty)
    }
    const now = fixedNow()
    const biases = new Map(now)
    for (const [token, penalty] of penalties) biases.set(token, (now.get(token) ?? 0) - penalty)
    return biasOf(model, biases)
  }
}

/**
 * `TokenBias.set` refuses tokens that end the turn, yet the sampler takes them: forbidding exactly those is what
 * `ignore_eos` means, so the values go where `set` would have put them (node-llama-cpp 3.22.1).
 */
function biasOf(model: LlamaModel, biases: ReadonlyMap<Token, number>): TokenBias {
  const bias = new TokenBias(model.tokenizer)
  const target = (bias as unknown as { _biases: Map<Token, number> })._biases
  for (const [token, value] of biases) target.set(token, value)
  return bias
}
