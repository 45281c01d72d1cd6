import { AppError } from '../contract/errors.ts'
import type { GrammarRequest } from '../grammar/compile-output.ts'
import type { CompiledGrammar } from '../grammar/grammar-builder.ts'
import { createGrammarCache } from '../grammar/grammar-cache.ts'
import { DeadlineThread, threadModule } from './deadline-thread.ts'
import { requestFailure } from './grammar-failure.ts'
import type { GrammarReply } from './grammar-thread.ts'

/** The grammar limits stop the work after about a second; a busy machine needs longer. */
const defaultTimeoutMs = 10_000

/**
 * Compiles grammars of output constraints in a thread: a caller's schema can take a second, which would block other requests.
 * Caches the most recently used grammars.
 */
export class GrammarCompiler {
  readonly #cache = createGrammarCache()
  readonly #thread: DeadlineThread<GrammarRequest, GrammarReply>
  #isClosed = false

  constructor({ timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number } = {}) {
    this.#thread = new DeadlineThread({ module: threadModule('grammar-thread', import.meta.url), timeoutMs })
  }

  /**
   * Rejects with the request's failure where `compileOutput` throws, with `unsupported-field` after the time limit, and with
   * `model-unavailable` after `close`.
   */
  async compile(request: GrammarRequest): Promise<CompiledGrammar> {
    const cached = this.#cache.peek(request)
    if (cached !== undefined) return cached
    const reply = await this.#thread.request(request)
    if (reply === undefined) {
      if (this.#isClosed) throw new AppError('model-unavailable', 'the model was unloaded')
      throw new AppError('unsupported-field', 'the output constraint takes too long to compile; make it smaller', {
        at: ['output'],
      })
    }
    switch (reply.type) {
      case 'compiled':
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
