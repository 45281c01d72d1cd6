import type { JsonObject } from '../contract/request.ts'
import type { Validator } from '../contract/validator.ts'
import { DeadlineThread, threadModule } from './deadline-thread.ts'
import type { ValidationReply, ValidationRequest } from './validator-thread.ts'

type Options = {
  /** The time limit for one schema or one text. */
  readonly timeoutMs?: number
}

/** Validates outputs against their schemas in a `DeadlineThread`: a caller's pattern can backtrack without end. */
export class OutputValidator implements Validator {
  readonly #timeoutMs: number
  readonly #thread: DeadlineThread<ValidationRequest, ValidationReply>

  constructor({ timeoutMs = 5000 }: Options = {}) {
    this.#timeoutMs = timeoutMs
    this.#thread = new DeadlineThread({ module: threadModule('validator-thread', import.meta.url), timeoutMs })
  }

  async canCheck(schema: JsonObject | boolean): Promise<boolean | undefined> {
    return (await this.#thread.request({ schema: JSON.stringify(schema) }))?.isSupported
  }

  async check(schema: JsonObject | boolean, text: string): Promise<string | undefined> {
    const reply = await this.#thread.request({ schema: JSON.stringify(schema), text })
    if (reply === undefined) return `it could not be checked within ${this.#timeoutMs} ms`
    return reply.isSupported ? reply.problem : 'it cannot be checked'
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }
}
