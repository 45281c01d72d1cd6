import { LlamaGrammar, LlamaGrammarEvaluationState } from 'node-llama-cpp'
import { AppError } from '../../../contract/errors.ts'
import type { Shape } from '../channel/ipc.ts'
import type { WorkerModel } from './model.ts'
import { allowsToken } from './native.ts'

export type Grammar = NonNullable<Shape['grammar']>

/** Grammars are parsed when they are prepared and again when they run; agents send the same ones all the time. */
const keptGrammars = 32
const grammars = new Map<string, LlamaGrammar>()

/** Throws `invalid-request` for a text that llama.cpp does not take for a grammar. */
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

/** A grammar at its beginning, for one output. */
export function createGrammarState(loaded: WorkerModel, grammar: Grammar): LlamaGrammarEvaluationState {
  return new LlamaGrammarEvaluationState({ model: loaded.model, grammar: parseGrammar(loaded, grammar) })
}

/** Whether the output may end here. A model without a token to end with never says. */
export function isComplete({ model, vocabulary }: WorkerModel, state: LlamaGrammarEvaluationState): boolean {
  const [end] = vocabulary.endTokens
  return end === undefined || allowsToken(model, state, end)
}
