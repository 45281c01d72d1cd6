import { AppError } from '../contract/errors.ts'
import type { GrammarRequest } from '../grammar/compile-output.ts'
import type { CompiledGrammar } from '../grammar/grammar-builder.ts'
import { createGrammarCache } from '../grammar/grammar-cache.ts'
import { threadModule } from './thread-module.ts'
import { ThreadPool } from './thread-pool.ts'
import { resultOf, type ThreadReply } from './thread-reply.ts'

/** The grammar limits stop the work after about a second; a busy machine needs longer. */
const defaultTimeoutMs = 10_000

/**
 * Compiles and checks grammars of output constraints in threads: a caller's schema can take a second, which would block other requests.
 * Caches the most recently used grammars.
 */
export class GrammarCompiler {
  readonly #cache = createGrammarCache()
  readonly #threads: ThreadPool<GrammarRequest, ThreadReply<CompiledGrammar>>
  #isClosed = false

  constructor({ timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number } = {}) {
    this.#threads = new ThreadPool({ module: threadModule('grammar-thread', import.meta.url), timeoutMs })
  }

  /**
   * Rejects with the request's failure if `compileOutput` throws, with `unsupported-field` after the time limit, and with
   * `model-unavailable` after `close`.
   */
  async compile(request: GrammarRequest): Promise<CompiledGrammar> {
    const cached = this.#cache.peek(request)
    if (cached !== undefined) return cached
    const reply = await this.#threads.request(request)
    if (reply === undefined) {
      if (this.#isClosed) throw new AppError('model-unavailable', 'the model was unloaded')
      throw tookTooLong()
    }
    const grammar = resultOf(reply)
    return this.#cache.find(request, () => grammar)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#threads.close()
  }
}

/** The failure of a constraint that was not compiled in time. */
export function tookTooLong(): AppError {
  const message = 'the output constraint takes too long to compile; make it smaller'
  return new AppError('unsupported-field', message, { at: ['output'] })
}
