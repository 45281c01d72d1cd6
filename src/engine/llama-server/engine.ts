import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { ActiveRuns } from '../../base/active-runs.ts'
import { type Emit, type OnTokensAfterCancel, WatchedEmit } from '../../base/emit.ts'
import { mergeSampling } from '../../canonical/merge-sampling.ts'
import type { Admit, Engine, EngineCapabilities, EngineFacts, EngineState, PreparedGeneration } from '../../contract/engine.ts'
import { AppError, type ErrorCode } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { Replay } from '../shared/replay.ts'
import {
  type ProcessExit,
  ProcessSupervisor,
  type Start,
  type SupervisedProcess,
  type SupervisorLog,
} from '../supervise/supervise.ts'
import { type LoadedServer, launchServer } from './launch.ts'
import { refuseUnreadable } from './refuse-media.ts'
import { askHealth, type ServerEndpoint } from './server-client.ts'
import type { ServerPlan } from './server-plan.ts'
import { createUpstreamCapabilities } from './upstream-capabilities.ts'

export type LlamaServerEngineOptions = Start<ServerPlan> & {
  readonly id: string
  /** Creates the engine that talks to a ready server; called for each start. */
  readonly createUpstream: (endpoint: ServerEndpoint) => Engine
  readonly log: SupervisorLog
  readonly launch?: typeof launchServer
  readonly health?: typeof askHealth
}

/** A started server, the engine that talks to it, and how the server ended, if it has. */
type Running = {
  readonly server: LoadedServer
  readonly upstream: Engine
  ended?: { readonly error: AppError; readonly exit: ProcessExit }
}

type ServedRequest = {
  readonly running: Running
  readonly prepared: PreparedGeneration
  readonly signal: AbortSignal
  readonly emit: Emit<EngineEvent>
  readonly onTokensAfterCancel: OnTokensAfterCancel | undefined
}

/** A closed connection is noticed before the exit of the process: on a busy machine, long before. */
const exitIsKnownAfterMs = 10_000

/** Failures that a crash of the server may have caused; all others are about the request. */
const upstreamFailures: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'engine-failed',
  'upstream-failed',
  'model-unavailable',
  'internal',
  'invalid-output',
])

/** Runs a model with the user's own llama-server, in a supervised process. */
export class LlamaServerEngine implements Engine {
  readonly #id: string
  readonly #createUpstream: (endpoint: ServerEndpoint) => Engine
  readonly #health: typeof askHealth
  readonly #supervisor: ProcessSupervisor<ServerPlan, LoadedServer, SupervisedProcess>
  #running: Running | undefined
  #hasMmproj = false
  #templateName: string | undefined
  readonly #active = new ActiveRuns()
  readonly capabilities: EngineCapabilities

  constructor(options: LlamaServerEngineOptions) {
    const { id, locate, need, createUpstream, log, launch = launchServer, health = askHealth } = options
    this.#id = id
    this.#createUpstream = createUpstream
    this.#health = health
    this.#supervisor = new ProcessSupervisor({
      model: id,
      locate: async (signal) => {
        const plan = await locate(signal)
        this.#hasMmproj = plan.mmprojPath !== undefined
        this.#templateName = plan.chatTemplateName
        return plan
      },
      ...(need !== undefined && { need }),
      launch: (plan, handlers) => launch(plan, handlers, { model: id, log }),
      log,
      describe: ({ endpoint, facts: { chatTemplate: _, ...facts } }) => ({ url: endpoint.url, ...facts }),
      onExit: (error, exit) => {
        if (this.#running === undefined) return
        this.#running.ended = { error, exit }
        void this.#running.upstream.close()
      },
    })
    this.capabilities = createUpstreamCapabilities({
      id,
      ask: (question, signal) => this.#ask(({ upstream }) => question(upstream), signal),
    })
  }

  get onState(): Engine['onState'] {
    return this.#supervisor.onState
  }

  get state(): EngineState {
    return this.#supervisor.state
  }

  /** Counted by the current server. */
  get tokensAfterCancel(): number {
    return this.#running?.upstream.tokensAfterCancel ?? 0
  }

  get facts(): EngineFacts {
    const loaded = this.#supervisor.loaded
    if (loaded === undefined) return {}
    const { readsImages: image, readsAudio: audio, readsVideo: video, version: _, ...facts } = loaded.facts
    const upstream = this.#running?.upstream.facts
    const sampling = mergeSampling(facts.sampling ?? {}, upstream?.sampling ?? {})
    const name = this.#templateName
    return {
      ...upstream,
      ...facts,
      ...(name !== undefined && { chatTemplateName: name }),
      sampling,
      modalities: { image, audio, video },
    }
  }

  async ensureReady(signal: AbortSignal, admit?: Admit): Promise<void> {
    await this.#ready(signal, admit)
  }

  checkMedia(request: Pick<GenerationRequest, 'prompt'>): void {
    const loaded = this.#supervisor.loaded
    if (loaded !== undefined) refuseUnreadable(request, this.#id, { ...loaded.facts, hasMmproj: this.#hasMmproj })
  }

  async prepare(asked: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
    // The server is ours, and knows only our key.
    const { callerKeys: _, ...own } = asked
    const request = withSeed(own)
    const prepare = async (running: Running) => {
      refuseUnreadable(request, this.#id, { ...running.server.facts, hasMmproj: this.#hasMmproj })
      return { running, prepared: await running.upstream.prepare(request, signal) }
    }
    const { running, prepared } = await this.#ask(prepare, signal)
    return {
      ...prepared,
      run: (runSignal, emit, onTokensAfterCancel) =>
        this.#active.track(() => this.#run(request, { running, prepared, signal: runSignal, emit, onTokensAfterCancel })),
    }
  }

  async unload({ drainMs }: { readonly drainMs: number }): Promise<void> {
    this.#supervisor.drain()
    await this.#active.idleWithin(drainMs)
    await this.close()
  }

  async close(): Promise<void> {
    await Promise.all([this.#supervisor.stop(), this.#running?.upstream.close()])
    this.#running = undefined
  }

  async #ready(signal: AbortSignal, admit?: Admit): Promise<Running> {
    const server = await this.#supervisor.ensureReady(signal, admit)
    if (this.#running?.server !== server) this.#running = { server, upstream: this.#createUpstream(server.endpoint) }
    const running = this.#running
    await running.upstream.ensureReady(signal)
    return running
  }

  /** Asks once more if another process killed the server: the request did not cause that. */
  async #ask<T>(question: (running: Running) => Promise<T>, signal: AbortSignal): Promise<T> {
    const running = await this.#ready(signal)
    try {
      return await question(running)
    } catch (error) {
      const end = await this.#endOf(running, error, signal)
      if (end === undefined) throw error
      if (!end.exit.fromOutside) throw end.error
      return question(await this.#ready(signal))
    }
  }

  async #run(request: GenerationRequest, { running, prepared, signal, emit, onTokensAfterCancel }: ServedRequest): Promise<void> {
    signal.throwIfAborted()
    const now = await this.#ready(signal)
    // The server may have been restarted since the request was prepared; the new one does not know the request.
    const current = now === running ? prepared : await now.upstream.prepare(request, signal)
    const reader = new WatchedEmit(emit)
    const replay = new Replay((event) => reader.emit(event))
    const take: Emit<EngineEvent> = (event) => {
      if (event.type === 'error') throw event.error
      signal.throwIfAborted()
      return replay.take(event)
    }
    try {
      await current.run(signal, take, onTokensAfterCancel)
    } catch (error) {
      if (reader.hasFailed) throw error
      const end = await this.#endOf(now, error, signal)
      if (end === undefined) throw error
      if (!end.exit.fromOutside) throw end.error
      const { upstream } = await this.#ready(signal)
      replay.restart(end.error)
      await (await upstream.prepare(request, signal)).run(signal, take, onTokensAfterCancel)
    }
  }

  /** How the server ended, if that may explain the upstream's failure. */
  async #endOf(running: Running, error: unknown, signal: AbortSignal): Promise<Running['ended']> {
    if (signal.aborted || (error instanceof AppError && !upstreamFailures.has(error.code))) return undefined
    const deadlineMs = performance.now() + exitIsKnownAfterMs
    while (running.ended === undefined && performance.now() < deadlineMs && !signal.aborted) {
      // A server that still answers has failed only this request.
      const health = await this.#health(running.server.endpoint)
      if (health === 'ready' || health === 'loading') break
      await pause(10)
    }
    return running.ended
  }
}

/** Sets a seed, so that another server can generate the same text again. */
function withSeed(request: GenerationRequest): GenerationRequest {
  const { sampling } = request
  if (sampling.seed !== undefined) return request
  return { ...request, sampling: { ...sampling, seed: randomInt(2 ** 31) } }
}
