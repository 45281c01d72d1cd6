import { createHash } from 'node:crypto'
import { LruMap } from '../../base/lru-map.ts'
import { AppError } from '../../contract/errors.ts'
import { tookTooLong } from '../../threads/grammar-compiler.ts'
import { ThreadPool } from '../../threads/thread-pool.ts'
import { resultOf, type ThreadReply } from '../../threads/thread-reply.ts'
import type { AnswerRequest } from './answer-grammar.ts'

/** The limits of the grammar stop the work after about a second; a busy machine needs longer. */
const timeoutMs = 10_000
const keptGrammars = 32

/** Compiles constraints of requests in threads, because a caller's schema can take a second. Remembers the most recent ones. */
export class CompilerThreads<Compiled extends object> {
  readonly #threads: ThreadPool<AnswerRequest, ThreadReply<Compiled | undefined>>
  readonly #known = new LruMap<string, Compiled>({ max: keptGrammars })
  #isClosed = false

  constructor(module: URL) {
    this.#threads = new ThreadPool({ module, timeoutMs })
  }

  /** Rejects with the request's failure, with `unsupported-field` after the time limit, and with the reason of an abort. */
  async compile(request: AnswerRequest, signal: AbortSignal): Promise<Compiled | undefined> {
    const key = createHash('sha256').update(JSON.stringify(request)).digest('base64')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const reply = await this.#threads.request(request, signal)
    if (reply !== undefined) {
      const compiled = resultOf(reply)
      return compiled && this.#known.set(key, compiled)
    }
    if (signal.aborted) throw AppError.from(signal.reason)
    throw this.#isClosed ? new AppError('model-unavailable', 'the model was unloaded') : tookTooLong()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#threads.close()
  }
}
