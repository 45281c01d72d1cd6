import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadModule, threadSource } from '../threads/thread-module.ts'
import { toStoreError } from './failure.ts'
import type { SqliteRow } from './sqlite-file.ts'
import type { SqliteAnswer, SqliteCall, SqliteQuery, SqliteSettings } from './sqlite-messages.ts'

type Waiting = { readonly resolve: (rows: readonly SqliteRow[]) => void; readonly reject: (error: Error) => void }

/** Rows live for the time of a message; V8 would take some 50 MB for them before it reuses any. */
const resourceLimits = { maxYoungGenerationSizeMb: 6 }

/** A database file in a thread of its own. The thread keeps the process alive only while a query runs. */
export class SqliteClient {
  readonly #thread: Worker
  readonly #waiting: Waiting[] = []
  #end: Error | undefined

  private constructor(thread: Worker) {
    this.#thread = thread
    thread.unref()
    thread.on('message', (answer: SqliteAnswer) => this.#settle(answer))
    thread.on('error', (error) => this.#fail(error))
    thread.on('exit', () => this.#fail(new Error('the thread of the database has ended')))
  }

  /** Rejects with the error of opening the file. */
  static async open(settings: SqliteSettings): Promise<SqliteClient> {
    const source = threadSource(threadModule('sqlite-thread', import.meta.url))
    const client = new SqliteClient(
      new Worker(source, { eval: true, execArgv: [], env: {}, workerData: settings, resourceLimits }),
    )
    await client.#wait()
    return client
  }

  /** Rejects with `store-unavailable`. */
  async query(query: SqliteQuery): Promise<readonly SqliteRow[]> {
    if (this.#end !== undefined) throw toStoreError(this.#end)
    this.#thread.postMessage(query satisfies SqliteCall)
    try {
      return await this.#wait()
    } catch (error) {
      throw toStoreError(error)
    }
  }

  /** Closes after the pending queries. */
  async close(): Promise<void> {
    if (this.#end !== undefined) return
    this.#end = new Error('the store is closed')
    const ended = once(this.#thread, 'exit')
    this.#thread.ref()
    this.#thread.postMessage('close' satisfies SqliteCall)
    await ended
  }

  #wait(): Promise<readonly SqliteRow[]> {
    this.#thread.ref()
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  #settle(answer: SqliteAnswer): void {
    const waiting = this.#waiting.shift()
    // A closing thread ends by itself: until then, the process must not.
    if (this.#waiting.length === 0 && this.#end === undefined) this.#thread.unref()
    if ('failure' in answer) waiting?.reject(new Error(answer.failure))
    else waiting?.resolve(answer.rows)
  }

  #fail(error: Error): void {
    this.#end ??= error
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}
