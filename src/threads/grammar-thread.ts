import { parentPort } from 'node:worker_threads'
import { compileOutput, type GrammarQuestion } from '../grammar/compile-output.ts'
import type { CompiledGrammar } from '../grammar/grammar-builder.ts'
import { GrammarError } from '../grammar/grammar-error.ts'
import type { GrammarRefusal } from './grammar-failure.ts'

/** `failed`: a fault of ours. Errors lose their class between threads, so their parts are sent. */
export type GrammarAnswer =
  | { readonly type: 'made'; readonly grammar: CompiledGrammar }
  | { readonly type: 'refused'; readonly refusal: GrammarRefusal }
  | { readonly type: 'failed'; readonly message: string }

parentPort?.on('message', (question: GrammarQuestion) => parentPort?.postMessage(answer(question)))
parentPort?.postMessage('ready')

function answer(question: GrammarQuestion): GrammarAnswer {
  try {
    return { type: 'made', grammar: compileOutput(question) }
  } catch (error) {
    if (!(error instanceof GrammarError)) return { type: 'failed', message: String(error) }
    const { kind, message, param } = error
    return { type: 'refused', refusal: { kind, message, param } }
  }
}
