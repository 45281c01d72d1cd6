import { ActiveRuns } from '../../base/active-runs.ts'
import { emitAll, type OnTokensAfterCancel } from '../../base/emit.ts'
import { orAborted } from '../../base/time-limit.ts'
import type {
  Adapter,
  Admit,
  Device,
  Engine,
  EngineCapabilities,
  EngineFacts,
  EngineState,
  PreparedGeneration,
} from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import { field } from '../../contract/field.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { Sampling } from '../../contract/sampling.ts'
import type { TemplateChoice } from '../../contract/template.ts'
import { refuseOtherAdapters } from '../shared/adapters.ts'
import { Replay } from '../shared/replay.ts'
import { refuseMissingOwn, templateFacts, templateOf } from '../shared/template-choice.ts'
import { TokensAfterCancel } from '../shared/tokens-after-cancel.ts'
import type { Start, SupervisorLog } from '../supervise/supervise.ts'
import type { LoadOptions, Report, RunCommand } from './channel/ipc.ts'
import { resolveSampling, samplingDefaults } from './channel/resolve-sampling.ts'
import { shortHash } from './channel/short-hash.ts'
import { refuseImpossible } from './check-request.ts'
import { type CompiledPlan, PlanCompiler } from './constraint/plan-compiler.ts'
import { Inboxes } from './inboxes.ts'
import { LentMedia, withoutBytes } from './lent-media.ts'
import { readableMedia, refuseReportOfMedia, refuseUnreadMedia } from './media.ts'
import { type SpawnWorker, spawnWorker } from './process.ts'
import { runOnWorker } from './run-on-worker.ts'
import { type LoadFacts, Supervisor } from './supervisor.ts'
import { createTextCapabilities } from './text-capabilities.ts'
import { WorkerExchanges } from './worker-exchanges.ts'

/** How a model runs on the embedded engine. */
type LlamaEngineOptions = Start<LoadOptions> & {
  readonly id: string
  /** Sampling defaults of the configuration; they win over those of the model's file. */
  readonly sampling?: Sampling
  readonly log: SupervisorLog
  readonly spawn?: SpawnWorker
  /** How long rendering and tokenizing a prompt may take before the worker counts as hung. */
  readonly prepareTimeoutMs?: number
  /** The adapters of the model, which are loaded with it. */
  readonly adapters?: readonly Adapter[]
  /** Converts media that llama.cpp cannot decode. */
  readonly converter?: MediaConverter
  /** What media it reads shows once it is loaded. */
  readonly hasProjector?: boolean
  /** Keys reuse what others' requests left. */
  readonly keysShare?: boolean
  /** Auto calls are constrained by the schemas of all tools, not only of the strict ones. */
  readonly constrainsAllTools?: boolean
}

/** Saving writes to the disk's cache; a worker that hangs must not delay the end for longer. */
const saveTimeoutMs = 20_000

const noModalities = { image: false, audio: false, video: false }

type PreparedPrompt = Pick<
  Extract<Report, { type: 'prepared' }>,
  'tokens' | 'slices' | 'lastMessage' | 'templateMs' | 'format' | 'reasoningFront'
> & {
  /** The number of template switches before it was prepared. */
  readonly templateEdition: number
}

type Prepared = PreparedPrompt & CompiledPlan

type RunOptions = {
  readonly signal: AbortSignal
  readonly late: OnTokensAfterCancel
  /** The sampling of the first try, whose seed may be random: a second try must generate the same text. */
  readonly chosen: { sampling?: RunCommand['sampling'] }
}

/** Runs a GGUF model with llama.cpp in a supervised child process. */
export class LlamaEngine implements Engine {
  readonly #id: string
  readonly #sampling: Sampling
  readonly #adapters: readonly Adapter[]
  readonly #converter: MediaConverter | undefined
  /** It has a projector. */
  readonly #mayRead: boolean
  readonly #keysShare: boolean
  readonly #supervisor: Supervisor
  readonly #inboxes = new Inboxes((command) => this.#supervisor.steer(command))
  readonly #exchanges: WorkerExchanges
  readonly #lent = new LentMedia()
  /** The template that an operator has switched to. */
  #chosen: TemplateChoice | undefined
  /** The template that the model was loaded with. */
  #given: TemplateChoice = { type: 'own' }
  #templateEdition = 0
  /** The template switch that the worker has not confirmed yet. It never rejects. */
  #switching: Promise<void> | undefined
  /** The worker keeps prefixes on disk. */
  #keepsPrefixes = false
  #usesSpareMemory = false
  #spareBytes = 0
  readonly #late = new TokensAfterCancel()
  readonly #active = new ActiveRuns()
  /** Closed when the model is unloaded; the next load creates another. */
  #plans: PlanCompiler
  readonly #createPlans: () => PlanCompiler
  readonly capabilities: EngineCapabilities

  constructor(options: LlamaEngineOptions) {
    const {
      id,
      locate,
      need,
      sampling = {},
      log,
      spawn = spawnWorker,
      prepareTimeoutMs = 60_000,
      constrainsAllTools = false,
    } = options
    this.#id = id
    this.#sampling = sampling
    this.#adapters = options.adapters ?? []
    this.#converter = options.converter
    this.#mayRead = options.hasProjector === true
    this.#keysShare = options.keysShare ?? false
    this.#createPlans = () => new PlanCompiler({ constrainsAllTools })
    this.#plans = this.#createPlans()
    this.#supervisor = new Supervisor({
      model: id,
      locate: async (signal) => {
        const located = await locate(signal)
        this.#keepsPrefixes = located.prefixCache?.disk !== undefined
        this.#usesSpareMemory = located.prefixCache?.memoryBytes === 'spare'
        this.#given = located.template ?? { type: 'own' }
        return { ...located, template: this.#chosen ?? this.#given }
      },
      ...(need !== undefined && { need }),
      spawn,
      log,
      onReport: (report) => this.#inboxes.deliver(report),
      media: (sha256) => this.#lent.get(sha256),
      onExit: (error, exit) => {
        this.#exchanges.onExit(error, exit)
        this.#inboxes.failAll(error)
      },
    })
    this.#exchanges = new WorkerExchanges({
      supervisor: this.#supervisor,
      inboxes: this.#inboxes,
      timeoutMs: prepareTimeoutMs,
    })
    const deps = {
      id,
      converter: this.#converter,
      exchanges: this.#exchanges,
      ready: (signal: AbortSignal) => this.#supervisor.ensureReady(signal),
    }
    this.capabilities = {
      ...createTextCapabilities(deps),
      templates: { use: (choice, signal) => this.#useTemplate(choice, signal) },
      devices: { read: (signal) => this.#readDevices(signal) },
      spareMemory: { use: (bytes) => this.#useSpareMemory(bytes) },
    }
    this.#supervisor.onState(({ type }) => {
      if (type === 'ready') this.#useSpareMemory(this.#spareBytes)
    })
  }

  get onState(): Engine['onState'] {
    return this.#supervisor.onState
  }

  get state(): EngineState {
    return this.#supervisor.state
  }

  get tokensAfterCancel(): number {
    return this.#late.total
  }

  get facts(): EngineFacts {
    const loaded = this.#supervisor.loaded
    if (loaded === undefined) return this.#mayRead ? {} : { modalities: noModalities }
    const { description: _, endTexts: __, fileSampling, chatTemplate, reads = noModalities, ...facts } = loaded
    const modalities = { ...reads, video: false }
    const sampling = samplingDefaults({ file: fileSampling.sampling, config: this.#sampling })
    return {
      ...facts,
      adapters: this.#adapters,
      modalities,
      sampling,
      ...templateFacts(this.#chosen ?? this.#given, chatTemplate),
    }
  }

  async ensureReady(signal: AbortSignal, admit?: Admit): Promise<void> {
    await this.#supervisor.ensureReady(signal, admit)
  }

  checkMedia(request: Pick<GenerationRequest, 'prompt'>): void {
    const { loaded } = this.#supervisor
    if (loaded !== undefined || !this.#mayRead) refuseUnreadMedia(request, this.#id, loaded?.reads)
  }

  async prepare(asked: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
    refuseOtherAdapters(asked, { model: this.#id, adapters: this.#adapters })
    const { endTexts, fileSampling: _, reads, ...model } = await this.#supervisor.ensureReady(signal)
    refuseReportOfMedia(asked)
    refuseImpossible(asked, model)
    const readable = readableMedia(asked, { id: this.#id, reads, converter: this.#converter }, signal)
    const request = readable instanceof Promise ? await readable : readable
    const onWorker = await this.#exchanges.inTurn(() => this.#prepareOnWorker(request), signal)
    const prepared = { ...onWorker, ...(await this.#plans.compile(request, { ...onWorker, endTexts }, signal)) }
    const { tokens, plan, structured } = prepared
    if (request.sampling.healsTokens === true && plan.grammar !== undefined) throw healsInVain()
    return {
      inputTokens: tokens.length,
      ...(plan.format !== undefined && { outputFormat: plan.format }),
      ...(structured !== undefined && { structured }),
      // Only a required call is certain by the grammar: strict tools that it cannot enforce were refused.
      callsAreCertain: request.toolChoice.type === 'required',
      reportsPrompt: true,
      keepsMinimum: true,
      usesTemplate: true,
      run: (signal, emit, late) => {
        const replay = new Replay(emit)
        const options = { signal, late: this.#late.of(late), chosen: {} }
        const run = () => emitAll(this.#run(request, prepared, options), replay.take)
        const attempt = () => this.#lent.during(request.prompt, run)
        return this.#active.track(() => this.#exchanges.orAgain(attempt, signal, (failure) => replay.restart(failure)))
      },
    }
  }

  async #useTemplate(choice: TemplateChoice, signal: AbortSignal): Promise<void> {
    const { chatTemplate: own } = await this.#supervisor.ensureReady(signal)
    refuseMissingOwn(choice, own)
    await this.#exchanges.inTurn(() => this.#switchTemplate(choice), signal)
  }

  async #readDevices(signal: AbortSignal): Promise<readonly Device[]> {
    if (this.#supervisor.state.type !== 'ready') return []
    return (await this.#exchanges.compute({ type: 'devices' }, 'devices', signal)).devices
  }

  #useSpareMemory(bytes: number): void {
    this.#spareBytes = bytes
    if (this.#usesSpareMemory && this.#supervisor.state.type === 'ready') this.#supervisor.steer({ type: 'spare-memory', bytes })
  }

  async unload({ drainMs }: { readonly drainMs: number }): Promise<void> {
    this.#supervisor.drain()
    await this.#active.idleWithin(drainMs)
    const plans = this.#plans
    this.#plans = this.#createPlans()
    await this.#shutDown(plans)
  }

  close(): Promise<void> {
    return this.#shutDown(this.#plans)
  }

  async #shutDown(plans: PlanCompiler): Promise<void> {
    this.#exchanges.refuse(new AppError('shutting-down', `model '${this.#id}' is being unloaded`))
    this.#supervisor.drain()
    if (this.#keepsPrefixes) await this.#savePrefixes()
    await Promise.all([this.#supervisor.stop(), plans.close()])
  }

  /** The worker gets no more work. Never rejects: without a worker there is nothing to save. */
  async #savePrefixes(): Promise<void> {
    const command = { type: 'save-prefixes', id: this.#exchanges.nextId() } as const
    await this.#exchanges.exchange(command, 'prefixes-saved', saveTimeoutMs).catch(() => undefined)
  }

  async #prepareOnWorker(request: GenerationRequest): Promise<PreparedPrompt> {
    const templateEdition = this.#templateEdition
    const { id, prompt, maxOutputTokens, reasoning, toolChoice } = request
    const command = { type: 'prepare', id, prompt: withoutBytes(prompt), reasoning, toolChoice, maxOutputTokens } as const
    const prepared = await this.#lent.during(prompt, () => this.#exchanges.exchange(command, 'prepared'))
    return { ...prepared, templateEdition }
  }

  async #switchTemplate(choice: TemplateChoice): Promise<void> {
    const command = { type: 'use-template', id: this.#exchanges.nextId(), choice } as const
    const used = this.#exchanges
      .exchange(command, 'template-used')
      .then(() => {
        this.#chosen = choice
        this.#templateEdition += 1
      })
      .finally(() => {
        this.#switching = undefined
      })
    this.#switching = used.catch(() => undefined)
    await used
  }

  /** Waits for a template switch too, because the worker may already use the new template; the switch may crash the worker. */
  async #readyToRun(signal: AbortSignal): Promise<LoadFacts> {
    let loaded = await this.#supervisor.ensureReady(signal)
    while (this.#switching !== undefined) {
      await orAborted(this.#switching, signal)
      loaded = await this.#supervisor.ensureReady(signal)
    }
    return loaded
  }

  async *#run(
    request: GenerationRequest,
    { tokens, slices, lastMessage, templateMs, plan, templateEdition }: Prepared,
    { signal, late, chosen }: RunOptions,
  ): AsyncGenerator<EngineEvent, void, void> {
    // The worker may have crashed and restarted since the prompt was prepared; the tokens are still valid.
    const { fileSampling } = await this.#readyToRun(signal)
    chosen.sampling ??= resolveSampling({ file: fileSampling.sampling, config: this.#sampling, request: request.sampling })
    const template = templateOf(request.prompt)
    const isSwitched = templateEdition !== this.#templateEdition
    if (isSwitched && request.prompt.type === 'chat' && template === undefined) throw templateSwitched()
    const { id, owner, promptTokens, ignoreEos, choices, maxOutputTokens, minOutputTokens, pinsPrompt, tellsProgress } = request
    const { budgetTokens, budgetMessage } = request.reasoning
    const command: RunCommand = {
      type: 'run',
      id,
      tokens,
      ...(slices !== undefined && { slices }),
      lastMessage,
      owner: shortHash(this.#keysShare ? '' : (owner ?? '')),
      maxOutputTokens,
      minOutputTokens,
      stop: [...request.stop],
      ignoreEos,
      sampling: chosen.sampling,
      choices,
      topLogprobs: request.logprobs?.topHere ?? request.logprobs?.top,
      echoPrompt: promptTokens && { topLogprobs: promptTokens.logprobs?.top },
      plan,
      template,
      pinsPrompt,
      tellsProgress,
      showsSpecialTokens: request.showsSpecialTokens,
      reasoningBudget: budgetTokens === undefined ? undefined : { tokens: budgetTokens, message: budgetMessage },
    }
    yield* runOnWorker(command, { supervisor: this.#supervisor, inboxes: this.#inboxes, templateMs, signal, late })
  }
}

function healsInVain(): AppError {
  const message = `${field('sampling', 'healsTokens')} and a constraint of the output (or tools) both decide how it begins: send one of them`
  return new AppError('invalid-request', message, { at: ['sampling', 'healsTokens'] })
}

/** The output would be parsed in the format of the earlier template. */
function templateSwitched(): AppError {
  return new AppError('request-conflict', "the model's chat template was switched while this request waited; send it again")
}
