import { given } from '../../base/json.ts'
import { orAborted } from '../../base/time-limit.ts'
import type { Admit, Engine, EngineCapabilities, EngineFacts, EngineState, PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { ObservedState } from '../shared/observed-state.ts'
import { refuseMedia } from '../shared/refuse-media.ts'

/** Which engine runs a model, and which media the model reads there. */
export type EngineChoice = {
  readonly engine: 'first' | 'second'
  /** Absent: only its load shows. */
  readonly modalities?: NonNullable<EngineFacts['modalities']>
  /** Why it reads no media, and what to do. */
  readonly mediaProblem?: string
  /** What runs it in the place of the first, and why. */
  readonly runsOn?: string
}

type EitherOptions = {
  readonly id: string
  readonly first: Engine
  /** Created when it is chosen for the first time. */
  readonly createSecond: () => Engine
  /** The choice as far as it is known without a network. */
  look(): Promise<EngineChoice>
  /** Whether the first engine failed for a reason that the second may not have. */
  isForSecond?(reason: string): boolean
  /** Chooses before a start, or after the first engine failed in that way. Rejects only with the signal's reason. */
  choose(signal: AbortSignal, failure?: string): Promise<EngineChoice>
}

/** Runs a model on one of two engines. The choice is made before each start: what it depends on may change while the model is unloaded. */
export class EitherEngine implements Engine {
  readonly #options: EitherOptions
  readonly #observed = new ObservedState()
  #current: Engine
  #second: Engine | undefined
  #choice: EngineChoice | undefined
  #choosing: Promise<void> | undefined
  /** Aborted when the model is unloaded. */
  #stop = new AbortController()

  constructor(options: EitherOptions) {
    this.#options = options
    this.#current = this.#follow(options.first)
    options.look().then(
      (choice) => {
        this.#choice ??= choice
      },
      // The choice before the start counts.
      () => undefined,
    )
  }

  get state(): EngineState {
    return this.#observed.current
  }

  get onState(): Engine['onState'] {
    return this.#observed.observe
  }

  get capabilities(): EngineCapabilities {
    return this.#current.capabilities
  }

  get tokensAfterCancel(): number {
    return (this.#options.first.tokensAfterCancel ?? 0) + (this.#second?.tokensAfterCancel ?? 0)
  }

  get facts(): EngineFacts {
    const { modalities: loaded, ...facts } = this.#current.facts
    const { modalities: expected, mediaProblem, runsOn } = this.#choice ?? {}
    const modalities = this.state.type === 'ready' ? loaded : expected
    return {
      ...facts,
      ...given({ modalities, mediaProblem, runsOn }),
    }
  }

  async ensureReady(signal: AbortSignal, admit?: Admit): Promise<void> {
    await this.#ask(async (engine) => engine.ensureReady(signal, admit), signal)
  }

  checkMedia(request: Pick<GenerationRequest, 'prompt'>): void {
    const { modalities, mediaProblem } = this.facts
    if (modalities === undefined) return
    const { image, audio, video } = modalities
    // Videos may become images: the client of the server decides. Documents become text.
    const reads = { image, audio, video: video === true || image, file: true }
    refuseMedia(
      request,
      (kind) => reads[kind],
      (kind) => `model '${this.#options.id}' cannot read parts of type '${kind}': ${mediaProblem ?? otherKinds}`,
    )
  }

  async prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
    return this.#ask((engine) => engine.prepare(request, signal), signal)
  }

  async unload(options: { readonly drainMs: number }): Promise<void> {
    await this.#endChoosing()
    await this.#current.unload(options)
  }

  async close(): Promise<void> {
    await this.#endChoosing()
    await Promise.all([this.#options.first.close(), this.#second?.close()])
  }

  /** Asks the engine that runs the model, and the second one if the first cannot run it. */
  async #ask<T>(question: (engine: Engine) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (isAtRest(this.#current.state)) this.#begin()
    await this.#settled(signal)
    const asked = this.#current
    try {
      return await question(asked)
    } catch (error) {
      await this.#settled(signal)
      if (this.#current === asked) throw error
      return question(this.#current)
    }
  }

  /** Resolves when the engine that runs the model is known. */
  async #settled(signal: AbortSignal): Promise<void> {
    if (this.#choosing !== undefined) await orAborted(this.#choosing, signal)
  }

  #begin(failure?: string): void {
    if (this.#choosing !== undefined) return
    const choosing = this.#choose(failure).finally(() => {
      this.#choosing = undefined
      // All who waited may have left: then no engine starts.
      setImmediate(() => this.#show(this.#current.state))
    })
    // Those who wait get the reason.
    choosing.catch(() => undefined)
    this.#choosing = choosing
  }

  async #choose(failure: string | undefined): Promise<void> {
    this.#stop = new AbortController()
    const { signal } = this.#stop
    this.#observed.current = { type: 'starting' }
    const choice = await this.#options.choose(signal, failure)
    signal.throwIfAborted()
    this.#choice = choice
    if (choice.engine === 'second') this.#second ??= this.#follow(this.#options.createSecond())
    const next = choice.engine === 'second' && this.#second !== undefined ? this.#second : this.#options.first
    const before = this.#current
    this.#current = next
    if (next !== before) await before.unload({ drainMs: 0 })
  }

  async #endChoosing(): Promise<void> {
    this.#stop.abort(new AppError('shutting-down', `model '${this.#options.id}' is being unloaded; try again later`))
    await this.#choosing?.catch(() => undefined)
  }

  #follow(engine: Engine): Engine {
    engine.onState((state) => {
      if (engine !== this.#current) return
      if (engine === this.#options.first && this.#isForSecond(state)) this.#begin(state.reason)
      else this.#show(state)
    })
    return engine
  }

  #isForSecond(state: EngineState): state is Extract<EngineState, { type: 'failed' }> {
    return state.type === 'failed' && isAtRest(state) && this.#options.isForSecond?.(state.reason) === true
  }

  #show(state: EngineState): void {
    if (this.#choosing === undefined && state !== this.#observed.current) this.#observed.current = state
  }
}

const otherKinds = 'its multimodal projector has no part for them'

/** Nothing runs, and nothing will by itself. */
function isAtRest(state: EngineState): boolean {
  return state.type === 'stopped' || (state.type === 'failed' && state.retryAtMs === undefined)
}
