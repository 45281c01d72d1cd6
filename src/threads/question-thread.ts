import { once } from 'node:events'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

type Options = {
  /** The module that the thread runs: it posts `ready`, and one answer to each question. */
  readonly module: URL
  /** How long one answer may take. */
  readonly timeoutMs: number
}

/**
 * Work that callers can make long, in a thread that is ended when it takes too long. The thread is started by the first question;
 * it keeps no process alive.
 */
export class QuestionThread<Question, Answer> {
  readonly #module: URL
  readonly #timeoutMs: number
  #thread: Worker | undefined
  /** Questions are answered one after the other, so that each has the whole of its time. */
  #last: Promise<unknown> = Promise.resolve()
  #deadline: AbortController | undefined
  #isClosed = false

  constructor({ module, timeoutMs }: Options) {
    this.#module = module
    this.#timeoutMs = timeoutMs
  }

  /** Undefined when the thread did not answer in time, or broke. */
  ask(question: Question): Promise<Answer | undefined> {
    const answer = this.#last.then(() => this.#answer(question))
    this.#last = answer
    return answer
  }

  /** Whoever still asks gets no answer. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#deadline?.abort()
    await this.#last
    await this.#end()
  }

  async #answer(question: Question): Promise<Answer | undefined> {
    if (this.#isClosed) return undefined
    const deadline = new AbortController()
    this.#deadline = deadline
    let timer: NodeJS.Timeout | undefined
    try {
      this.#thread ??= await startThread(this.#module)
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

/** The module that a thread runs, beside the caller's own: `name` without an extension. */
export function threadModule(name: string, callerUrl: string): URL {
  return new URL(`./${name}${extname(fileURLToPath(callerUrl))}`, callerUrl)
}

async function startThread(module: URL): Promise<Worker> {
  const thread = new Worker(threadSource(module), {
    eval: true,
    execArgv: [],
    // It works on what callers send, and has no business with anything else.
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
function threadSource(module: URL): string {
  const path = fileURLToPath(module)
  if (extname(path) !== '.ts') return `import(${JSON.stringify(module.href)})`
  const tsx = createRequire(import.meta.url).resolve('tsx/cjs/api')
  return `require(${JSON.stringify(tsx)}).register(); require(${JSON.stringify(path)})`
}
