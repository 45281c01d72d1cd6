import { threadModule } from '../../threads/thread-module.ts'
import type { AnswerGrammar } from './answer-grammar.ts'
import { CompilerThreads } from './compiler-threads.ts'

/** Compiles the grammars of answers, for servers that take them as text. */
export function answerCompiler(): CompilerThreads<AnswerGrammar> {
  return new CompilerThreads(threadModule('answer-thread', import.meta.url))
}
