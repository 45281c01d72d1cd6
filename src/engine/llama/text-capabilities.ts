import type { Embedder, EngineCapabilities, Ranker, Tokenizer } from '../../contract/engine.ts'
import type { Question } from './channel/questions.ts'
import { refuseNonText, refuseUnknownIds } from './check-request.ts'
import type { LoadedModel } from './supervisor.ts'
import { unexpected, type WorkerQuestions } from './worker-questions.ts'

type Deps = {
  /** The model's id. */
  readonly id: string
  readonly questions: Pick<WorkerQuestions, 'ask' | 'compute'>
  ready(signal: AbortSignal): Promise<LoadedModel>
}

/** What the worker does besides generating: each a message to it, and its answer. */
export function createTextCapabilities({
  id,
  questions,
  ready,
}: Deps): Required<Pick<EngineCapabilities, 'tokenizer' | 'embedder' | 'ranker'>> {
  const tokenize: Tokenizer['tokenize'] = async ({ prompt, reasoning, addBos, parseSpecial }, signal) => {
    refuseNonText({ prompt }, id)
    await ready(signal)
    const answer = await questions.ask({ type: 'tokenize', prompt, reasoning, addBos, parseSpecial }, signal)
    if (answer.type !== 'tokens') throw unexpected(answer)
    return [...answer.tokens]
  }
  const tokenizer: Tokenizer = {
    tokenize,
    count: async (request, signal) => (await tokenize(request, signal)).length,
    async detokenize({ tokens, special }, signal) {
      const { vocabularySize } = await ready(signal)
      refuseUnknownIds(tokens, { vocabularySize, at: ['tokens'] })
      const answer = await questions.ask({ type: 'detokenize', tokens: Uint32Array.from(tokens), special }, signal)
      if (answer.type !== 'text') throw unexpected(answer)
      return answer.text
    },
    async render({ prompt, reasoning }, signal) {
      refuseNonText({ prompt }, id)
      await ready(signal)
      const answer = await questions.ask({ type: 'render', prompt, reasoning }, signal)
      if (answer.type !== 'text') throw unexpected(answer)
      return answer.text
    },
  }
  const embedder: Embedder = {
    async embed(inputs, signal) {
      const { vocabularySize } = await ready(signal)
      for (const [index, input] of inputs.entries()) {
        if (input.type === 'tokens') refuseUnknownIds(input.tokens, { vocabularySize, at: ['inputs', index] })
      }
      const answer = await questions.compute({ type: 'embed', inputs }, signal)
      if (answer.type !== 'vectors') throw unexpected(answer)
      return answer
    },
  }
  const ranker: Ranker = {
    async rank({ query, texts }, signal) {
      await ready(signal)
      const question: Question = { type: 'rank', texts: [...texts], ...(query !== undefined && { query }) }
      const answer = await questions.compute(question, signal)
      if (answer.type !== 'scores') throw unexpected(answer)
      return answer
    },
  }
  return { tokenizer, embedder, ranker }
}
