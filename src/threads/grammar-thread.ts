import { parentPort } from 'node:worker_threads'
import { AppError, type ErrorCode } from '../contract/errors.ts'
import { compileOutput, type GrammarQuestion } from '../grammar/compile-output.ts'
import type { CompiledGrammar } from '../grammar/grammar-builder.ts'

export type GrammarAnswer =
  | { readonly type: 'made'; readonly grammar: CompiledGrammar }
  | { readonly type: 'refused'; readonly code: ErrorCode; readonly message: string; readonly param: string | undefined }

parentPort?.on('message', (question: GrammarQuestion) => parentPort?.postMessage(answer(question)))
parentPort?.postMessage('ready')

function answer(question: GrammarQuestion): GrammarAnswer {
  try {
    return { type: 'made', grammar: compileOutput(question) }
  } catch (error) {
    const { code, message, param } = AppError.from(error)
    return { type: 'refused', code, message, param }
  }
}
