import { orAborted } from '../../base/time-limit.ts'
import { messageOf } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { ToolOutcome } from '../../contract/server-tool.ts'
import type { McpConnection, McpTarget, ToolList } from './connection.ts'
import { AnswerLost, SessionLost } from './lost.ts'
import { cancelledCall, failedCall, lostAnswer, outcomeOf } from './outcome.ts'

export type McpServerOptions = {
  readonly target: McpTarget
  /** Milliseconds of a clock that never goes back. */
  now(): number
  readonly limits?: Partial<typeof defaultLimits> | undefined
  onLine?: ((line: string) => void) | undefined
  onFailure?: ((why: string) => void) | undefined
}

const defaultLimits = {
  /** The limit for connecting, and for listing the tools. */
  answerMs: 8000,
  /** The same for a program, which may have to be installed first. */
  startMs: 60_000,
  /** How long a server that failed is left alone. */
  failedMs: 60_000,
  /** How long a server without calls stays connected. */
  idleMs: 300_000,
  /** How long a list is valid if the server may not announce changes. */
  listMs: 300_000,
  /** How long a request waits for the list of a server that it does not name; after a failure, how long any request waits. */
  soonMs: 3000,
}

/** Attempts for one list, if the server keeps announcing changes. */
const maxTries = 3

type Failure = { readonly why: string; readonly atMs: number }

/**
 * One server and its session: connected on demand, with its list of tools kept until the server announces a change. Calls share the
 * session.
 */
export class McpServer {
  readonly #options: McpServerOptions
  readonly #limits: typeof defaultLimits
  #connection: Promise<McpConnection> | undefined
  #tools: ToolList | undefined
  #listedAtMs = 0
  /** The tools have changed since the list was requested. */
  #hasChanged = false
  #listing: Promise<ToolList> | undefined
  #failure: Failure | undefined
  /** Numbers the connections. */
  #generation = 0
  #calls = 0
  #idle: NodeJS.Timeout | undefined
  readonly #closing = new AbortController()

  constructor(options: McpServerOptions) {
    this.#options = options
    this.#limits = { ...defaultLimits, ...options.limits }
  }

  /**
   * The tools of the server. Rejects with the reason if there are none; a server that just failed is not asked again. `waits`: wait as long
   * as the server may take; otherwise only briefly, while the list arrives for later requests.
   */
  async tools(signal: AbortSignal, waits: boolean): Promise<ToolList> {
    const known = this.#tools
    if (known !== undefined) {
      if (this.#listing !== undefined) return orAborted(waits ? this.#listing : this.#soon(this.#listing), signal)
      if (this.#isOld()) this.#refresh()
      return known
    }
    const failure = this.#recentFailure()
    if (failure !== undefined) throw new Error(failure.why)
    const listing = this.#list()
    // After one long wait in vain, later requests wait only briefly.
    return orAborted(waits && this.#failure === undefined ? listing : this.#soon(listing), signal)
  }

  /** Waits briefly for a list that is on its way. */
  #soon(listing: Promise<ToolList>): Promise<ToolList> {
    const { soonMs } = this.#limits
    const slow = `it has not answered within ${soonMs / 1000} s`
    listing.catch(() => undefined)
    return new Promise((resolve, reject) => {
      const late = () => {
        const why = this.#failure?.why ?? slow
        if (this.#failure === undefined) this.#options.onFailure?.(`${slow}: a request goes without its tools`)
        reject(new Error(`${why}; it is being asked, for later requests`))
      }
      const timer = setTimeout(late, soonMs)
      listing.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }

  async call(name: string, args: JsonObject, signal: AbortSignal): Promise<ToolOutcome> {
    this.#calls += 1
    clearTimeout(this.#idle)
    let isSent = false
    const callOnce = async () => {
      isSent = false
      const connection = await orAborted(this.#connect(), signal)
      isSent = true
      return connection.call(name, args, signal)
    }
    try {
      signal.throwIfAborted()
      const failure = this.#recentFailure()
      if (failure !== undefined) return failedCall(failure.why)
      return outcomeOf(
        await callOnce().catch((error: unknown) => {
          if (!(error instanceof SessionLost)) throw error
          return callOnce()
        }),
      )
    } catch (error) {
      if (signal.aborted) return cancelledCall(isSent)
      return error instanceof AnswerLost ? lostAnswer(error.message) : failedCall(messageOf(error))
    } finally {
      this.#calls -= 1
      this.#awaitIdle()
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('this server is shutting down'))
    await this.#disconnect()
  }

  /** A program announces changes of its tools, or ends. */
  #isOld(): boolean {
    return this.#options.target.type === 'url' && this.#options.now() - this.#listedAtMs > this.#limits.listMs
  }

  #recentFailure(): Failure | undefined {
    const failure = this.#failure
    return failure !== undefined && this.#options.now() - failure.atMs < this.#limits.failedMs ? failure : undefined
  }

  #list(): Promise<ToolList> {
    this.#listing ??= this.#ask().finally(() => {
      this.#listing = undefined
    })
    return this.#listing
  }

  async #ask(): Promise<ToolList> {
    try {
      const connection = await this.#connect()
      let tools: ToolList = { tools: [], left: [] }
      for (let tries = 0; tries === 0 || (this.#hasChanged && tries < maxTries); tries += 1) {
        this.#hasChanged = false
        tools = await connection.listTools(this.#limits.answerMs)
      }
      this.#tools = tools
      this.#listedAtMs = this.#options.now()
      this.#failure = undefined
      return tools
    } catch (error) {
      this.#fail(error)
      this.#tools = undefined
      throw error
    } finally {
      this.#awaitIdle()
    }
  }

  #connect(): Promise<McpConnection> {
    this.#connection ??= this.#open()
    return this.#connection
  }

  async #open(): Promise<McpConnection> {
    const { target, onLine } = this.#options
    this.#generation += 1
    const generation = this.#generation
    try {
      // The client of the protocol is large, and most servers do not need it.
      const { connect } = await import('./connection.ts')
      this.#closing.signal.throwIfAborted()
      const connection = await connect(target, {
        timeoutMs: target.type === 'program' ? this.#limits.startMs : this.#limits.answerMs,
        signal: this.#closing.signal,
        onToolsChanged: () => this.#refresh(),
        onEnd: () => {
          if (generation === this.#generation) this.#connection = undefined
        },
        onLine,
      })
      return connection
    } catch (error) {
      this.#connection = undefined
      this.#fail(error)
      throw error
    }
  }

  /** Later requests wait for the new list and see its failure; the next request asks again. */
  #refresh(): void {
    this.#hasChanged = true
    this.#list().catch(() => undefined)
  }

  #fail(error: unknown): void {
    const why = messageOf(error)
    // A failed connection already reported the failure.
    if (this.#failure?.why !== why || this.#recentFailure() === undefined) this.#options.onFailure?.(why)
    this.#failure = { why, atMs: this.#options.now() }
  }

  #awaitIdle(): void {
    clearTimeout(this.#idle)
    if (this.#connection === undefined || this.#calls > 0) return
    this.#idle = setTimeout(() => void this.#disconnect(), this.#limits.idleMs)
    this.#idle.unref()
  }

  async #disconnect(): Promise<void> {
    clearTimeout(this.#idle)
    const connection = this.#connection
    this.#connection = undefined
    await (await connection?.catch(() => undefined))?.close()
  }
}
