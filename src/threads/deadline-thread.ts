import { once } from 'node:events'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

type Options = {
  /** The module that the thread runs: it posts `ready`, then one reply per request. */
  readonly module: URL
  /** The time limit of one reply. */
  readonly timeoutMs: number
}

/**
 * Runs work whose duration callers control, in a thread that is terminated at a deadline. The first request starts the thread; the
 * thread does not keep the process alive.
 */
export class DeadlineThread<Request, Reply> {
  readonly #module: URL
  readonly #timeoutMs: number
  #thread: Worker | undefined
  /** Requests run one after the other, so that each has its full time limit. */
  #last: Promise<unknown> = Promise.resolve()
  #deadline: AbortController | undefined
  #isClosed = false

  constructor({ module, timeoutMs }: Options) {
    this.#module = module
    this.#timeoutMs = timeoutMs
  }

  /** Undefined when the thread missed the deadline, failed or was closed. */
  request(request: Request): Promise<Reply | undefined> {
    const reply = this.#last.then(() => this.#send(request))
    this.#last = reply
    return reply
  }

  /** Pending requests resolve to undefined. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#deadline?.abort()
    await this.#last
    await this.#terminate()
  }

  async #send(request: Request): Promise<Reply | undefined> {
    if (this.#isClosed) return undefined
    const deadline = new AbortController()
    this.#deadline = deadline
    let timer: NodeJS.Timeout | undefined
    try {
      this.#thread ??= await startThread(this.#module)
      const replied = once(this.#thread, 'message', { signal: deadline.signal })
      timer = setTimeout(() => deadline.abort(), this.#timeoutMs)
      this.#thread.postMessage(request)
      const [reply] = (await replied) as [Reply]
      return reply
    } catch {
      // Too slow, or out of memory: the next request gets a new thread.
      await this.#terminate()
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  async #terminate(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await thread?.terminate()
  }
}

/** The URL of a thread's module in the caller's folder, with the caller's extension; `name` has none. */
export function threadModule(name: string, callerUrl: string): URL {
  return new URL(`./${name}${extname(fileURLToPath(callerUrl))}`, callerUrl)
}

async function startThread(module: URL): Promise<Worker> {
  const thread = new Worker(threadSource(module), {
    eval: true,
    execArgv: [],
    // It processes untrusted input and needs no secrets.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  })
  thread.unref()
  await once(thread, 'message')
  // A failure between two requests shows in the next one, which gets no reply in time.
  thread.on('error', () => undefined)
  return thread
}

/** Run from sources (tests, development), the thread has to load TypeScript; built, it loads JavaScript. */
function threadSource(module: URL): string {
  const path = fileURLToPath(module)
  if (extname(path) !== '.ts') return `import(${JSON.stringify(module.href)})`
  const tsx = createRequire(import.meta.url).resolve('tsx/cjs/api')
  return `require(${JSON.stringify(tsx)}).register(); require(${JSON.stringify(path)})`
}
