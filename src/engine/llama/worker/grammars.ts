import { LlamaGrammar, LlamaGrammarEvaluationState } from 'node-llama-cpp'
import { AppError } from '../../../contract/errors.ts'
import type { OutputPlan } from '../channel/ipc.ts'
import type { WorkerModel } from './model.ts'
import { allowsToken } from './native.ts'

export type Grammar = NonNullable<OutputPlan['grammar']>

/** Grammars are parsed by `prepare` and by `run`, and agents send the same ones again and again. */
const keptGrammars = 32
const grammars = new Map<string, LlamaGrammar>()

/** Throws `invalid-request` for a grammar that llama.cpp does not parse. */
export function parseGrammar({ model }: Pick<WorkerModel, 'model'>, grammar: Grammar): LlamaGrammar {
  const key = `${grammar.root} ${grammar.text}`
  const parsed = grammars.get(key) ?? parse(model.llama, grammar)
  // The least recently used one is the first in the map's order.
  grammars.delete(key)
  grammars.set(key, parsed)
  if (grammars.size > keptGrammars) for (const oldest of [...grammars.keys()].slice(0, 1)) grammars.delete(oldest)
  return parsed
}

function parse(llama: WorkerModel['model']['llama'], { text, root }: Grammar): LlamaGrammar {
  try {
    return new LlamaGrammar(llama, { grammar: text, rootRuleName: root })
  } catch (error) {
    throw new AppError('invalid-request', 'the grammar does not parse: llama.cpp refuses it', { cause: error })
  }
}

/** The initial state of a grammar, for one output. */
export function createGrammarState(loaded: WorkerModel, grammar: Grammar): LlamaGrammarEvaluationState {
  return new LlamaGrammarEvaluationState({ model: loaded.model, grammar: parseGrammar(loaded, grammar) })
}

/** Whether the output may end here; always true for a model without an end token. */
export function isComplete({ model, vocabulary }: WorkerModel, state: LlamaGrammarEvaluationState): boolean {
  const [end] = vocabulary.endTokens
  return end === undefined || allowsToken(model, state, end)
}
