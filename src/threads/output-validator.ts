import type { JsonObject } from '../contract/request.ts'
import type { Validator } from '../contract/validator.ts'
import type { Answer, Question } from './judge-thread.ts'
import { QuestionThread, threadModule } from './question-thread.ts'
import type { Verdict } from './schema-judge.ts'

type Options = {
  /** How long one schema or one text may take. */
  readonly timeoutMs?: number
}

/** Checks finished outputs against their schemas, in a thread that is ended when it takes too long: patterns come from callers. */
export class OutputValidator implements Validator {
  readonly #timeoutMs: number
  readonly #thread: QuestionThread<Question, Answer>

  constructor({ timeoutMs = 5000 }: Options = {}) {
    this.#timeoutMs = timeoutMs
    this.#thread = new QuestionThread({ module: threadModule('judge-thread', import.meta.url), timeoutMs })
  }

  /** Whether outputs can be checked against this schema; undefined when it could not be found out in time. */
  async canCheck(schema: JsonObject | boolean): Promise<boolean | undefined> {
    return (await this.#thread.ask({ schema: JSON.stringify(schema) }))?.canJudge
  }

  /** What is wrong with a text by this schema, in words; undefined when it is valid JSON of the schema. */
  async check(schema: JsonObject | boolean, text: string): Promise<Verdict> {
    const answer = await this.#thread.ask({ schema: JSON.stringify(schema), text })
    if (answer === undefined) return `it could not be checked within ${this.#timeoutMs} ms`
    return answer.canJudge ? answer.verdict : 'it cannot be checked'
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }
}
