import type { LlamaContextSequence, LlamaModel, Token } from 'node-llama-cpp'
import { createSampler, type LogitIndex, readLogits } from '../context/native.ts'

/** A token's log-probability, and the top log-probabilities at its position, the highest first. */
export type TokenScore = { readonly logprob: number; readonly top: readonly (readonly [Token, number])[] }

type Scorer = {
  score(sequence: LlamaContextSequence, index: LogitIndex, token: Token): Promise<TokenScore>
  dispose(): void
}

/** JSON has no infinity; OpenAI writes this instead. */
const leastLogprob = -9999

/**
 * Reads log-probabilities of the model's own distribution: before penalties, bias, temperature, filters and grammar. The
 * logits are read twice: once for the normalisation over all of them, once to sort only the requested ones.
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
      // The weights are relative to the highest logit, which the greedy sampler selects.
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
