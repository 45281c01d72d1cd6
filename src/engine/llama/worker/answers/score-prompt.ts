import type { PromptToken } from '../../../../contract/event.ts'
import type { LogitIndex } from '../../binding/context.ts'
import type { Model } from '../../binding/model.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { WorkerModel } from '../model/model.ts'
import { readInSteps } from '../rounds/prefill.ts'
import type { RunControl } from '../sampling/run-control.ts'
import { scoreToken, showBytes, showTop, type TokenScore } from '../sampling/scores.ts'
import type { Vocabulary } from '../sampling/vocabulary.ts'
import type { Slot } from '../slots/slots.ts'

/**
 * llama.cpp keeps the logits of every token of a step until the next, half a megabyte each for a large vocabulary. Up to this
 * size its attention rounds as for single tokens: scores are then equal to those of a generation (measured).
 */
const largestStep = 32

type Scoring = {
  readonly slot: Slot
  readonly control: RunControl
  readonly tokens: readonly Token[]
  readonly topLogprobs: number
  /** Called with every token, in order. */
  readonly report: (tokens: readonly PromptToken[]) => void
}

/**
 * Computes a prompt except its last token, without reusing the slot's tokens, because each score needs the logits of the token before.
 * False: cancelled between two steps.
 */
export async function scorePrompt({ model, vocabulary, rounds, createPacer }: WorkerModel, scoring: Scoring): Promise<boolean> {
  const { slot, control, tokens, topLogprobs, report } = scoring
  const { sequence } = slot
  const describe = createPromptDescriber(model, vocabulary)
  await sequence.clearHistory()
  report(tokens.slice(0, 1).map((token) => describe(token)))
  const pacer = createPacer(largestStep)
  let reported = 1
  const compute = async (step: readonly Token[]) => {
    const following = tokens.slice(reported, reported + step.length)
    const score = (index: LogitIndex, at: number) =>
      scoreToken(sequence.context.logits(index), following[at] as Token, topLogprobs)
    const scores = await sequence.computeAll(step, score)
    report(following.map((token, at) => describe(token, scores[at])))
    reported += step.length
  }
  await readInSteps(tokens.slice(0, -1), { pacer, rounds, isOver: control.cancelled, depth: 0 }, compute)
  return !control.cancelled()
}

/** The tokens of a prompt, without scores. */
export function describePrompt({ model, vocabulary }: WorkerModel, tokens: readonly Token[]): PromptToken[] {
  const describe = createPromptDescriber(model, vocabulary)
  return tokens.map((token) => describe(token))
}

/** Some tokenizers add a space in front of a text; it is not part of the text. */
function createPromptDescriber(model: Model, vocabulary: Vocabulary) {
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
