import { parentPort } from 'node:worker_threads'
import { compileOutput, type GrammarRequest } from '../grammar/compile-output.ts'
import type { CompiledGrammar } from '../grammar/grammar-builder.ts'
import { GrammarError } from '../grammar/grammar-error.ts'
import type { GrammarRefusal } from './grammar-failure.ts'

/** `failed`: a bug of ours. Errors lose their class between threads, so their fields are sent. */
export type GrammarReply =
  | { readonly type: 'compiled'; readonly grammar: CompiledGrammar }
  | { readonly type: 'refused'; readonly refusal: GrammarRefusal }
  | { readonly type: 'failed'; readonly message: string }

parentPort?.on('message', (request: GrammarRequest) => parentPort?.postMessage(reply(request)))
parentPort?.postMessage('ready')

function reply(request: GrammarRequest): GrammarReply {
  try {
    return { type: 'compiled', grammar: compileOutput(request) }
  } catch (error) {
    if (!(error instanceof GrammarError)) return { type: 'failed', message: String(error) }
    const { kind, message, param } = error
    return { type: 'refused', refusal: { kind, message, param } }
  }
}
