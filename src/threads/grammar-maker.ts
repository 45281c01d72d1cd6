import { AppError } from '../contract/errors.ts'
import type { GrammarRequest } from '../grammar/compile-output.ts'
import type { CompiledGrammar } from '../grammar/grammar-builder.ts'
import { createGrammarCache } from '../grammar/grammar-cache.ts'
import { requestFailure } from './grammar-failure.ts'
import type { GrammarReply } from './grammar-thread.ts'
import { QuestionThread, threadModule } from './question-thread.ts'

/** The limits of a grammar end the work after about a second; a busy machine takes longer. */
const defaultTimeoutMs = 10_000

/**
 * Compiles the grammars of outputs in a thread: a caller's schema can take a second, during which other requests must go on.
 * Keeps the grammars that were used last.
 */
export class GrammarMaker {
  readonly #cache = createGrammarCache()
  readonly #thread: QuestionThread<GrammarRequest, GrammarReply>
  #isClosed = false

  constructor({ timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number } = {}) {
    this.#thread = new QuestionThread({ module: threadModule('grammar-thread', import.meta.url), timeoutMs })
  }

  /**
   * Rejects with the request's failure where `compileOutput` throws, with `unsupported-field` for what takes too long, and with
   * `model-unavailable` once it was closed.
   */
  async make(request: GrammarRequest): Promise<CompiledGrammar> {
    const known = this.#cache.peek(request)
    if (known !== undefined) return known
    const reply = await this.#thread.ask(request)
    if (reply === undefined) {
      if (this.#isClosed) throw new AppError('model-unavailable', 'the model was unloaded')
      throw new AppError('unsupported-field', 'what this asks of the output takes too long to prepare; make it smaller', {
        at: ['output'],
      })
    }
    switch (reply.type) {
      case 'made':
        return this.#cache.find(request, () => reply.grammar)
      case 'refused':
        throw requestFailure(reply.refusal)
      case 'failed':
        throw AppError.from(new Error(`the grammar thread failed: ${reply.message}`))
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#thread.close()
  }
}
