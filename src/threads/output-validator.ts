import type { JsonObject } from '../contract/request.ts'
import type { Validator } from '../contract/validator.ts'
import { threadModule } from './thread-module.ts'
import { ThreadPool } from './thread-pool.ts'
import type { ValidationReply, ValidationRequest } from './validator-thread.ts'

type Options = {
  /** The time limit for one schema or one text. */
  readonly timeoutMs?: number
}

/** Validates outputs against their schemas in threads: a caller's pattern can backtrack without end. */
export class OutputValidator implements Validator {
  readonly #timeoutMs: number
  readonly #threads: ThreadPool<ValidationRequest, ValidationReply>

  constructor({ timeoutMs = 2000 }: Options = {}) {
    this.#timeoutMs = timeoutMs
    this.#threads = new ThreadPool({ module: threadModule('validator-thread', import.meta.url), timeoutMs })
  }

  async canCheck(schema: JsonObject | boolean): Promise<boolean | undefined> {
    return (await this.#threads.request({ schema: JSON.stringify(schema) }))?.isSupported
  }

  async check(schema: JsonObject | boolean, text: string): Promise<string | undefined> {
    const reply = await this.#threads.request({ schema: JSON.stringify(schema), text })
    if (reply === undefined) return `it could not be checked within ${this.#timeoutMs} ms`
    return reply.isSupported ? reply.problem : 'it cannot be checked'
  }

  async close(): Promise<void> {
    await this.#threads.close()
  }
}
