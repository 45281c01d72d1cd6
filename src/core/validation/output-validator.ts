import { once } from 'node:events'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { JsonObject } from '../request.ts'
import type { Answer, Question } from './judge-thread.ts'
import type { Verdict } from './schema-judge.ts'

type Options = {
  /** How long one schema or one text may take. */
  readonly timeoutMs?: number
}

/** Who checks outputs. Neither question ever takes long, or throws. */
export type Validator = Pick<OutputValidator, 'canCheck' | 'check'>

/**
 * Checks finished outputs against their schemas, in a thread that is ended when it takes too long: patterns come from callers.
 * The thread is started by the first question; it keeps no process alive.
 */
export class OutputValidator {
  readonly #timeoutMs: number
  #thread: Worker | undefined
  /** Questions are answered one after the other, so that each has the whole of its time. */
  #last: Promise<unknown> = Promise.resolve()

  constructor({ timeoutMs = 5000 }: Options = {}) {
    this.#timeoutMs = timeoutMs
  }

  /** Whether outputs can be checked against this schema. */
  async canCheck(schema: JsonObject | boolean): Promise<boolean> {
    const answer = await this.#ask({ schema: JSON.stringify(schema) })
    return answer?.canJudge === true
  }

  /** What is wrong with a text by this schema, in words; undefined when it is valid JSON of the schema. */
  async check(schema: JsonObject | boolean, text: string): Promise<Verdict> {
    const answer = await this.#ask({ schema: JSON.stringify(schema), text })
    if (answer === undefined) return `it could not be checked within ${this.#timeoutMs} ms`
    return answer.canJudge ? answer.verdict : 'it cannot be checked'
  }

  async close(): Promise<void> {
    await this.#last
    await this.#end()
  }

  #ask(question: Question): Promise<Answer | undefined> {
    const answer = this.#last.then(() => this.#answer(question))
    this.#last = answer
    return answer
  }

  /** Undefined when the thread did not answer in time, or broke. */
  async #answer(question: Question): Promise<Answer | undefined> {
    const deadline = new AbortController()
    let timer: NodeJS.Timeout | undefined
    try {
      this.#thread ??= await startThread()
      const answered = once(this.#thread, 'message', { signal: deadline.signal })
      timer = setTimeout(() => deadline.abort(), this.#timeoutMs)
      this.#thread.postMessage(question)
      const [answer] = (await answered) as [Answer]
      return answer
    } catch {
      // Too slow, or out of memory: the next question gets a fresh thread, and this one the answer that there is none.
      await this.#end()
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  async #end(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await thread?.terminate()
  }
}

async function startThread(): Promise<Worker> {
  const thread = new Worker(threadSource(), {
    eval: true,
    execArgv: [],
    // It runs code that is made from callers' schemas, and has no business with anything else.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  })
  thread.unref()
  await once(thread, 'message')
  // A failure between two questions is noticed by the next one, which gets no answer in time.
  thread.on('error', () => undefined)
  return thread
}

/** From sources (tests, development) the thread is TypeScript, which a thread has to learn first; built, it is JavaScript. */
function threadSource(): string {
  const extension = extname(fileURLToPath(import.meta.url))
  const url = new URL(`./judge-thread${extension}`, import.meta.url)
  if (extension !== '.ts') return `import(${JSON.stringify(url.href)})`
  const tsx = createRequire(import.meta.url).resolve('tsx/cjs/api')
  return `require(${JSON.stringify(tsx)}).register(); require(${JSON.stringify(fileURLToPath(url))})`
}
