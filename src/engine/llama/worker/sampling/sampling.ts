import { type LlamaModel, type SequenceEvaluateOptions, type Token, TokenBias } from 'node-llama-cpp'
import type { ResolvedSampling } from '../../channel/ipc.ts'

/** The tokens of one generation so far, for the penalties. */
type History = { readonly prompt: Uint32Array; readonly output: readonly Token[] }

/**
 * The inputs of the bias: `banned` tokens are never sampled; `held` ones are not before the output has `until` tokens, or, with
 * `asLastResort`, only if no other token is possible.
 */
type BiasSource = {
  readonly model: LlamaModel
  readonly history: History
  readonly banned: readonly Token[]
  readonly held?: Held | undefined
}

type Held = { readonly tokens: readonly Token[]; readonly until: number; readonly asLastResort: boolean }

/** Lower than any sum of logit, bias and penalties, but above tokens that a grammar forbids. */
const lastResort = -1e9

type EvaluateOptions = Pick<
  SequenceEvaluateOptions,
  'temperature' | 'topP' | 'topK' | 'minP' | 'seed' | 'xtc' | 'dryRepeatPenalty' | 'repeatPenalty' | 'tokenBias'
>

/** Our sampling as options of node-llama-cpp. `history.output` is read again for every token. */
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
        // `null` should mean the whole context, but llama.cpp reads it as 0, which is off (node-llama-cpp 3.22.1).
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

/** node-llama-cpp penalizes all tokens that it is given, even more than `maxPunishTokens`. */
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
    // In OpenAI's API, -100 means never.
    fixed.set(id as Token, bias <= -100 ? Number.NEGATIVE_INFINITY : bias)
  }
  for (const token of banned) fixed.set(token, Number.NEGATIVE_INFINITY)
  const early = new Map(fixed)
  const hold = held?.asLastResort === true ? lastResort : Number.NEGATIVE_INFINITY
  for (const token of held?.tokens ?? []) early.set(token, Math.min(hold, fixed.get(token) ?? hold))
  const fixedNow = () => (history.output.length < (held?.until ?? 0) ? early : fixed)
  if (presencePenalty === 0 && frequencyPenalty === 0) {
    if (held === undefined) return fixed.size === 0 ? undefined : biasOf(model, fixed)
    if (held.until === Number.POSITIVE_INFINITY) return biasOf(model, early)
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
 * `TokenBias.set` refuses tokens that end the turn, but the sampler accepts a bias for them, and `ignore_eos` needs it: the values are
 * written where `set` would write them (node-llama-cpp 3.22.1).
 */
function biasOf(model: LlamaModel, biases: ReadonlyMap<Token, number>): TokenBias {
  const bias = new TokenBias(model.tokenizer)
  const target = (bias as unknown as { _biases: Map<Token, number> })._biases
  for (const [token, value] of biases) target.set(token, value)
  return bias
}
