import { AppError } from '../contract/errors.ts'
import type { GrammarQuestion } from '../grammar/compile-output.ts'
import type { CompiledGrammar } from '../grammar/grammar-builder.ts'
import { createGrammarCache } from '../grammar/grammar-cache.ts'
import { requestFailure } from './grammar-failure.ts'
import type { GrammarAnswer } from './grammar-thread.ts'
import { QuestionThread, threadModule } from './question-thread.ts'

/** A grammar's own limits end the work after about a second; a busy machine takes longer for as much. */
const defaultTimeoutMs = 10_000

/**
 * Makes the grammars of outputs in a thread of its own: a schema that a caller sends may take a second, in which nobody else's
 * answer may stand still. Those that were made last are kept.
 */
export class GrammarMaker {
  readonly #cache = createGrammarCache()
  readonly #thread: QuestionThread<GrammarQuestion, GrammarAnswer>
  #isClosed = false

  constructor({ timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number } = {}) {
    this.#thread = new QuestionThread({ module: threadModule('grammar-thread', import.meta.url), timeoutMs })
  }

  /**
   * Rejects with the request's failure where `compileOutput` throws, with `unsupported-field` for what takes too long, and with
   * `model-unavailable` once it was closed.
   */
  async make(question: GrammarQuestion): Promise<CompiledGrammar> {
    const known = this.#cache.peek(question)
    if (known !== undefined) return known
    const answer = await this.#thread.ask(question)
    const { param } = question
    if (answer === undefined) {
      if (this.#isClosed) throw new AppError('model-unavailable', 'the model was unloaded')
      throw new AppError('unsupported-field', 'what this asks of the output takes too long to prepare; make it smaller', {
        param,
      })
    }
    switch (answer.type) {
      case 'made':
        return this.#cache.find(question, () => answer.grammar)
      case 'refused':
        throw requestFailure(answer.refusal)
      case 'failed':
        throw AppError.from(new Error(`the grammar thread failed: ${answer.message}`))
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#thread.close()
  }
}
