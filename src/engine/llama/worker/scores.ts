import type { LlamaContextSequence, LlamaModel, Token } from 'node-llama-cpp'
import { createSampler, type LogitIndex, readLogits } from './native.ts'

/** A token's log-probability, and those of the likeliest tokens of its step, the likeliest first. */
export type TokenScore = { readonly logprob: number; readonly top: readonly (readonly [Token, number])[] }

export type Scorer = {
  score(sequence: LlamaContextSequence, index: LogitIndex, token: Token): Promise<TokenScore>
  dispose(): void
}

/** JSON has no infinity; this is OpenAI's word for it. */
const leastLogprob = -9999

/**
 * Reads log-probabilities of the model's own distribution: before penalties, bias, temperature, filters and grammar. Two
 * looks at the logits: one takes the normalisation from all of them, the other sorts only as many as are wanted.
 */
export function createScorer(model: LlamaModel, top: number): Scorer {
  const greedy = createSampler(model)
  greedy.applyConfig({ temperature: 0 })
  const best = createSampler(model)
  best.applyConfig({ temperature: 1, topK: top, seed: 0 })
  return {
    async score(sequence, index, token) {
      const all = await readLogits(sequence, { sampler: greedy, index, tokens: [token], top: 0 })
      const logitOf = new Map(all.logits)
      // The weights are relative to the highest logit, which is the one that the greedy sampler selects.
      const norm = (logitOf.get(all.selected) ?? 0) + Math.log(all.totalWeight)
      const logprobOf = (logit: number) => Math.min(0, Math.max(leastLogprob, logit - norm))
      const logprob = logprobOf(logitOf.get(token) ?? Number.NEGATIVE_INFINITY)
      if (top === 0) return { logprob, top: [] }
      const { logits } = await readLogits(sequence, { sampler: best, index, tokens: [], top })
      return { logprob, top: logits.map(([id, logit]) => [id, logprobOf(logit)]) }
    },
    dispose() {
      greedy.dispose()
      best.dispose()
    },
  }
}
