import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '../../contract/errors.ts'
import type { ProcessExit, ProcessHandlers, SupervisedProcess, SupervisorLog } from '../supervise/supervise.ts'
import { explainExit } from './explain-exit.ts'
import { freePort } from './free-port.ts'
import { readProgress, sizeOfFiles } from './load-progress.ts'
import { askFacts, askHealth, type Health, type ServerEndpoint } from './server-client.ts'
import type { ServerFacts } from './server-facts.ts'
import { type ServerPlan, serverArguments } from './server-plan.ts'
import { type ServerProcess, spawnServer } from './spawn-server.ts'

export type LoadedServer = { readonly endpoint: ServerEndpoint; readonly facts: ServerFacts }

type LaunchOptions = {
  readonly model: string
  readonly log: SupervisorLog
  /** How long a server may take until it listens; it does so before it loads its model. */
  readonly listenTimeoutMs?: number
  readonly findPort?: () => Promise<number>
}

const pollEveryMs = 50
const portTries = 5

/** Starts a server on a port of its own, and again on another one when that was taken. */
export function launchServer(
  plan: ServerPlan,
  handlers: ProcessHandlers<LoadedServer>,
  options: LaunchOptions,
): SupervisedProcess {
  const launch = new Launch(plan, handlers, options)
  return {
    get pid() {
      return launch.pid
    },
    exited: launch.exited,
    kill: () => launch.kill(),
    ping: () => void launch.ping(),
  }
}

class Launch {
  readonly #plan: ServerPlan
  readonly #handlers: ProcessHandlers<LoadedServer>
  readonly #options: LaunchOptions
  readonly exited: Promise<ProcessExit>
  #server: ServerProcess | undefined
  #endpoint: ServerEndpoint | undefined
  #stopped = false

  constructor(plan: ServerPlan, handlers: ProcessHandlers<LoadedServer>, options: LaunchOptions) {
    this.#plan = plan
    this.#handlers = handlers
    this.#options = options
    this.exited = this.#run()
  }

  get pid(): number {
    return this.#server?.pid ?? -1
  }

  async kill(): Promise<void> {
    this.#stopped = true
    await this.#server?.kill()
    await this.exited
  }

  async ping(): Promise<void> {
    if (this.#endpoint !== undefined && (await askHealth(this.#endpoint)) !== 'silent') this.#handlers.onHeard()
  }

  async #run(): Promise<ProcessExit> {
    let tries = 0
    while (true) {
      tries += 1
      const end = await this.#attempt().catch((error: unknown): AttemptEnd => {
        return { type: 'gone', exit: { description: messageOf(error), lastLines: [], fromOutside: false } }
      })
      switch (end.type) {
        case 'gone':
          return end.exit
        case 'failed':
          this.#handlers.onLoadFailed(end.message)
          return end.exit
        case 'port-taken':
          if (tries < portTries && !this.#stopped) break
          this.#handlers.onLoadFailed(`${tries} free ports of 127.0.0.1 were taken before the server could use them`)
          return end.exit
      }
    }
  }

  /** One server from its start to its end. */
  async #attempt(): Promise<AttemptEnd> {
    const { model, log, findPort = freePort, listenTimeoutMs = 60_000 } = this.#options
    const port = await findPort()
    if (this.#stopped) return { type: 'gone', exit: { description: 'was not started', lastLines: [], fromOutside: false } }
    const endpoint: ServerEndpoint = {
      url: `http://127.0.0.1:${port}/v1`,
      apiKey: randomBytes(24).toString('base64url'),
      model: `dragoman-${randomBytes(6).toString('hex')}`,
    }
    const { binary } = this.#plan
    const server = spawnServer({
      binary,
      args: serverArguments(this.#plan, { port, alias: endpoint.model }),
      apiKey: endpoint.apiKey,
      onLine: (line) => log.debug({ model, line }, 'llama-server output'),
    })
    this.#server = server
    this.#endpoint = endpoint
    const outcome = await this.#awaitReady(server, endpoint, listenTimeoutMs)
    switch (outcome) {
      case 'ready':
        return { type: 'gone', exit: await server.exited }
      case 'mute': {
        void server.kill()
        const message = `${binary} did not listen on its port within ${listenTimeoutMs / 1000} seconds: is it a llama-server?`
        return { type: 'failed', message, exit: await server.exited }
      }
      case 'not-ours':
        void server.kill()
        return { type: 'port-taken', exit: await server.exited }
      case 'gone': {
        const exit = await server.exited
        if (this.#stopped) return { type: 'gone', exit }
        return { ...explainExit({ binary, ...exit }), exit }
      }
    }
  }

  /** Polls the server until its model is loaded, and reports progress. */
  async #awaitReady(
    server: ServerProcess,
    endpoint: ServerEndpoint,
    listenTimeoutMs: number,
  ): Promise<'ready' | 'gone' | 'mute' | 'not-ours'> {
    const ended = new AbortController()
    void server.exited.then(() => ended.abort())
    const deadlineMs = performance.now() + listenTimeoutMs
    let health: Health = 'silent'
    let hasListened = false
    let progress = 0
    const fileBytes = await sizeOfFiles(this.#plan)
    while (!ended.signal.aborted) {
      health = await askHealth(endpoint)
      if (health === 'ready') {
        const facts = await askFacts(endpoint).catch((error: Error) => (error.name === 'TimeoutError' ? 'late' : undefined))
        if (ended.signal.aborted) return 'gone'
        // Another process took the port and answered; our server is about to fail.
        if (facts === undefined) return 'not-ours'
        // On a busy machine, it is asked again.
        if (facts !== 'late') {
          this.#handlers.onReady({ endpoint, facts })
          return 'ready'
        }
      }
      if (health === 'not-ours') return 'not-ours'
      hasListened ||= health === 'loading'
      // It listens before it loads.
      if (health === 'loading') {
        progress = Math.max(progress, await readProgress(server.pid, fileBytes))
        this.#handlers.onLoading(progress)
      }
      if (!hasListened && performance.now() > deadlineMs) return 'mute'
      await pause(pollEveryMs, undefined, { signal: ended.signal }).catch(() => undefined)
    }
    return 'gone'
  }
}

type AttemptEnd =
  | { readonly type: 'gone' | 'port-taken'; readonly exit: ProcessExit }
  | { readonly type: 'failed'; readonly message: string; readonly exit: ProcessExit }
