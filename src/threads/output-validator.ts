import { LruMap } from '../base/lru-map.ts'
import { AppError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/request.ts'
import type { TextGrammar, Validator } from '../contract/validator.ts'
import type { InputGrammarRequest } from './input-grammar.ts'
import { threadModule } from './thread-module.ts'
import { ThreadPool } from './thread-pool.ts'
import { resultOf, type ThreadReply } from './thread-reply.ts'
import type { ValidationReply, ValidationRequest } from './validator-thread.ts'

type Options = {
  /** The time limit for one schema or one text, most of which take milliseconds; a busy machine needs longer. */
  readonly timeoutMs?: number
  /** The time limit for one grammar, whose own limits stop the work after about a second; a busy machine needs longer. */
  readonly grammarTimeoutMs?: number
}

/** Agents send the same tools with every request. */
const keptGrammars = 32

/** Validates outputs against their schemas, and reads grammars, in threads: a caller's pattern can backtrack without end. */
export class OutputValidator implements Validator {
  readonly #timeoutMs: number
  readonly #threads: ThreadPool<ValidationRequest, ValidationReply>
  readonly #grammarThreads: ThreadPool<InputGrammarRequest, ThreadReply<JsonObject>>
  readonly #grammars = new LruMap<string, JsonObject>({ max: keptGrammars })
  #isClosed = false

  constructor({ timeoutMs = 10_000, grammarTimeoutMs = 10_000 }: Options = {}) {
    this.#timeoutMs = timeoutMs
    this.#threads = new ThreadPool({ module: threadModule('validator-thread', import.meta.url), timeoutMs })
    const module = threadModule('input-grammar-thread', import.meta.url)
    this.#grammarThreads = new ThreadPool({ module, timeoutMs: grammarTimeoutMs })
  }

  async canCheck(schema: JsonObject | boolean): Promise<boolean | undefined> {
    return (await this.#threads.request({ schema: JSON.stringify(schema) }))?.isSupported
  }

  async check(schema: JsonObject | boolean, text: string): Promise<string | undefined> {
    const reply = await this.#threads.request({ schema: JSON.stringify(schema), text })
    if (reply === undefined) return `it could not be checked within ${this.#timeoutMs} ms`
    return reply.isSupported ? reply.problem : 'it cannot be checked'
  }

  async inputSchema(grammar: TextGrammar, { place, signal }: Parameters<Validator['inputSchema']>[1]): Promise<JsonObject> {
    const key = `${grammar.syntax} ${grammar.definition}`
    return this.#grammars.get(key) ?? this.#grammars.set(key, await this.#readGrammar({ grammar, place }, signal))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#threads.close(), this.#grammarThreads.close()])
  }

  async #readGrammar(request: InputGrammarRequest, signal: AbortSignal): Promise<JsonObject> {
    const reply = await this.#grammarThreads.request(request, signal)
    if (reply !== undefined) return resultOf(reply)
    if (signal.aborted) throw AppError.from(signal.reason)
    if (this.#isClosed) throw new AppError('shutting-down', 'the server is shutting down; try again later')
    const message = 'the grammar takes too long to compile; make it smaller'
    throw new AppError('unsupported-field', message, { at: request.place })
  }
}
