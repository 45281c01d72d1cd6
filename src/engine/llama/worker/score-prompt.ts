import type { LlamaModel, Token } from 'node-llama-cpp'
import type { PromptToken } from '../../../contract/event.ts'
import { showBytes, showTop } from './describe-token.ts'
import type { WorkerModel } from './model.ts'
import { evaluateTokens } from './native.ts'
import { PrefillPacer, promptChunks } from './prefill.ts'
import type { RunControl } from './run-control.ts'
import { createScorer, type TokenScore } from './scores.ts'
import type { Slot } from './slots.ts'
import type { Vocabulary } from './vocabulary.ts'

/**
 * llama.cpp keeps the logits of every token of a step until the next, half a megabyte each for a large vocabulary. And up to
 * here its attention rounds as it does for single tokens: scores are then what they would have been in a generation (measured).
 */
const largestStep = 32

type Scoring = {
  readonly slot: Slot
  readonly control: RunControl
  readonly tokens: readonly Token[]
  readonly topLogprobs: number
  /** Is told every token, in order. */
  readonly tell: (tokens: readonly PromptToken[]) => void
}

/**
 * Computes a prompt but its last token, from its beginning, whatever the slot holds, because a score needs the logits of the
 * token before. False: cancelled between two steps.
 */
export async function scorePrompt({ model, vocabulary }: WorkerModel, scoring: Scoring): Promise<boolean> {
  const { slot, control, tokens, topLogprobs, tell } = scoring
  const { sequence } = slot
  const describe = createPromptDescriber(model, vocabulary)
  await sequence.clearHistory()
  tell(tokens.slice(0, 1).map((token) => describe(token)))
  const scorer = createScorer(model, topLogprobs)
  const pacer = new PrefillPacer({ largestChunk: largestStep })
  let told = 1
  try {
    for await (const step of promptChunks(tokens.slice(0, -1), pacer)) {
      if (control.cancelled()) return false
      const following = tokens.slice(told, told + step.length)
      const scores = await evaluateTokens(sequence, step, (index, at) => scorer.score(sequence, index, following[at] as Token))
      tell(following.map((token, at) => describe(token, scores[at])))
      told += step.length
    }
  } finally {
    scorer.dispose()
  }
  return !control.cancelled()
}

/** The tokens of a prompt that nobody wants scores of. */
export function describePrompt({ model, vocabulary }: WorkerModel, tokens: readonly Token[]): PromptToken[] {
  const describe = createPromptDescriber(model, vocabulary)
  return tokens.map((token) => describe(token))
}

/** Tokenizers of some models write a space in front of a text, which is no part of it. */
function createPromptDescriber(model: LlamaModel, vocabulary: Vocabulary) {
  const space = 0x20
  let started = false
  return (token: Token, score?: TokenScore): PromptToken => {
    const all = vocabulary.bytesOf(token)
    const isFirst = !started && all.length > 0
    started ||= isFirst
    const bytes = isFirst && all[0] === space && !model.detokenize([token]).startsWith(' ') ? all.subarray(1) : all
    return { ...showBytes(token, bytes), ...(score !== undefined && { logprob: score.logprob }), top: showTop(vocabulary, score) }
  }
}
