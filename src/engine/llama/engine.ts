import { emitAll, type OnLateTokens } from '../../contract/emit.ts'
import type {
  Engine,
  EngineCapabilities,
  EngineFacts,
  EngineState,
  PreparedGeneration,
  TemplateChoice,
} from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import type { GenerationRequest, Sampling } from '../../contract/request.ts'
import { ActiveRuns } from '../active-runs.ts'
import { LateTokens } from '../late-tokens.ts'
import type { SupervisorLog } from '../supervise/supervise.ts'
import { refuseMissingOwn, templateFacts } from '../template-choice.ts'
import type { LoadOptions, Report } from './channel/ipc.ts'
import { resolveSampling, samplingDefaults } from './channel/resolve-sampling.ts'
import { refuseImpossible, refuseNonText, refuseTemperatureFirst } from './check-request.ts'
import { type CompiledPlan, PlanCompiler } from './constraint/plan-compiler.ts'
import { templateSwitched } from './failure.ts'
import type { Inbox } from './inbox.ts'
import { Inboxes } from './inboxes.ts'
import { orAborted } from './or-aborted.ts'
import { type SpawnWorker, spawnWorker } from './process.ts'
import { type LoadedModel, Supervisor } from './supervisor.ts'
import { createTextCapabilities } from './text-capabilities.ts'
import { unexpected, WorkerExchanges } from './worker-exchanges.ts'

type LlamaEngineOptions = {
  readonly id: string
  /** Finds or fetches the model file; runs before each start of the worker. */
  readonly locate: (signal: AbortSignal) => Promise<LoadOptions>
  /** Sampling defaults of the configuration; they win over those of the model's file. */
  readonly sampling?: Sampling
  readonly log: SupervisorLog
  readonly spawn?: SpawnWorker
  /** How long rendering and tokenizing a prompt may take before the worker counts as hung. */
  readonly prepareTimeoutMs?: number
  /** Auto calls are constrained by the schemas of all tools, not only of the strict ones. */
  readonly constrainsAllTools?: boolean
}

/** A request as the worker has prepared it. */
type PreparedPrompt = Pick<Extract<Report, { type: 'prepared' }>, 'tokens' | 'templateMs' | 'format' | 'reasoningFront'> & {
  /** The number of template switches before it was prepared. */
  readonly templateEdition: number
}

type Prepared = PreparedPrompt & CompiledPlan

/** Runs a GGUF model with llama.cpp in a supervised child process. */
export class LlamaEngine implements Engine {
  readonly #id: string
  readonly #sampling: Sampling
  readonly #supervisor: Supervisor
  readonly #inboxes = new Inboxes((command) => this.#supervisor.steer(command))
  readonly #exchanges: WorkerExchanges
  #template: TemplateChoice = { type: 'own' }
  #templateEdition = 0
  /** The template switch that the worker has not confirmed yet. It never rejects. */
  #switching: Promise<void> | undefined
  readonly #late = new LateTokens()
  readonly #active = new ActiveRuns()
  readonly #plans: PlanCompiler
  readonly capabilities: EngineCapabilities

  constructor(options: LlamaEngineOptions) {
    const { id, locate, sampling = {}, log, spawn = spawnWorker, prepareTimeoutMs = 60_000, constrainsAllTools = false } = options
    this.#id = id
    this.#sampling = sampling
    this.#plans = new PlanCompiler({ constrainsAllTools })
    this.#supervisor = new Supervisor({
      model: id,
      locate: async (signal) => ({ ...(await locate(signal)), template: this.#template }),
      spawn,
      log,
      onReport: (report) => this.#inboxes.deliver(report),
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
    const deps = { id, exchanges: this.#exchanges, ready: (signal: AbortSignal) => this.#supervisor.ensureReady(signal) }
    this.capabilities = {
      ...createTextCapabilities(deps),
      templates: { use: (choice, signal) => this.#useTemplate(choice, signal) },
    }
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
    if (loaded === undefined) return {}
    const { description: _, endTexts: __, fileSampling, chatTemplate, ...facts } = loaded
    const sampling = samplingDefaults({ file: fileSampling.sampling, config: this.#sampling })
    const modalities = { image: false, audio: false }
    return { ...facts, modalities, sampling, ...templateFacts(this.#template, chatTemplate) }
  }

  async ensureReady(signal: AbortSignal): Promise<void> {
    await this.#supervisor.ensureReady(signal)
  }

  async prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
    refuseNonText(request, this.#id)
    const { endTexts, fileSampling, ...model } = await this.#supervisor.ensureReady(signal)
    refuseImpossible(request, model)
    refuseTemperatureFirst(
      request,
      resolveSampling({ file: fileSampling.sampling, config: this.#sampling, request: request.sampling }),
    )
    const onWorker = await this.#exchanges.inTurn(() => this.#prepareOnWorker(request), signal)
    const prepared = { ...onWorker, ...(await this.#plans.compile(request, { ...onWorker, endTexts }, signal)) }
    const { tokens, plan, structured } = prepared
    return {
      inputTokens: tokens.length,
      ...(plan.format !== undefined && { outputFormat: plan.format }),
      ...(structured !== undefined && { structured }),
      // Only a required call is complete in the grammar: strict tools that it cannot enforce were refused.
      callsAreCertain: request.toolChoice.type === 'required',
      reportsPrompt: true,
      keepsMinimum: true,
      run: (signal, emit, late) =>
        this.#active.track(() => emitAll(this.#run(request, prepared, { signal, late: this.#late.of(late) }), emit)),
    }
  }

  async #useTemplate(choice: TemplateChoice, signal: AbortSignal): Promise<void> {
    const { chatTemplate: own } = await this.#supervisor.ensureReady(signal)
    refuseMissingOwn(choice, own)
    await this.#exchanges.inTurn(() => this.#switchTemplate(choice), signal)
  }

  async unload({ drainMs }: { readonly drainMs: number }): Promise<void> {
    this.#supervisor.drain()
    await this.#active.idleWithin(drainMs)
    await this.close()
  }

  async close(): Promise<void> {
    this.#exchanges.refuse(new AppError('shutting-down', `model '${this.#id}' is being unloaded`))
    await Promise.all([this.#supervisor.stop(), this.#plans.close()])
  }

  async #prepareOnWorker(request: GenerationRequest): Promise<PreparedPrompt> {
    const templateEdition = this.#templateEdition
    const { id, prompt, maxOutputTokens, reasoning } = request
    const limit = maxOutputTokens === undefined ? {} : { maxOutputTokens }
    const command = { type: 'prepare', id, prompt, reasoning, ...limit } as const
    return { ...(await this.#exchanges.exchange(command, 'prepared')), templateEdition }
  }

  async #switchTemplate(choice: TemplateChoice): Promise<void> {
    const command = { type: 'use-template', id: this.#exchanges.nextId(), choice } as const
    const used = this.#exchanges
      .exchange(command, 'template-used')
      .then(() => {
        this.#template = choice
        this.#templateEdition += 1
      })
      .finally(() => {
        this.#switching = undefined
      })
    this.#switching = used.catch(() => undefined)
    await used
  }

  /** Waits for a template switch too, because the worker may already use the new template; the switch may crash the worker. */
  async #readyToRun(signal: AbortSignal): Promise<LoadedModel> {
    let loaded = await this.#supervisor.ensureReady(signal)
    while (this.#switching !== undefined) {
      await orAborted(this.#switching, signal)
      loaded = await this.#supervisor.ensureReady(signal)
    }
    return loaded
  }

  async *#run(
    request: GenerationRequest,
    { tokens, templateMs, plan, templateEdition }: Prepared,
    { signal, late }: { readonly signal: AbortSignal; readonly late: OnLateTokens },
  ): AsyncGenerator<EngineEvent, void, void> {
    // The worker may have crashed and restarted since the prompt was prepared; the tokens are still valid.
    const { fileSampling } = await this.#readyToRun(signal)
    if (request.prompt.type === 'chat' && templateEdition !== this.#templateEdition) throw templateSwitched()
    const { id } = request
    const inbox = this.#inboxes.open(id)
    const cancel = () => this.#supervisor.steer({ type: 'cancel', id })
    signal.addEventListener('abort', cancel, { once: true })
    const { promptTokens, maxOutputTokens, minOutputTokens } = request
    const echoTop = promptTokens?.logprobs?.top
    const { budgetTokens } = request.reasoning
    let working = false
    let cachedInputTokens = 0
    let prefillMs = 0
    try {
      this.#supervisor.send({
        type: 'run',
        id,
        tokens,
        stop: [...request.stop],
        ignoreEos: request.ignoreEos,
        sampling: resolveSampling({ file: fileSampling.sampling, config: this.#sampling, request: request.sampling }),
        choices: request.choices,
        plan,
        ...(request.logprobs !== undefined && { topLogprobs: request.logprobs.top }),
        ...(maxOutputTokens !== undefined && { maxOutputTokens }),
        ...(minOutputTokens !== undefined && { minOutputTokens }),
        ...(promptTokens !== undefined && { echoPrompt: echoTop === undefined ? {} : { topLogprobs: echoTop } }),
        ...(budgetTokens !== undefined && { reasoningBudget: budgetTokens }),
      })
      working = true
      if (signal.aborted) cancel()
      while (working) {
        const report = await inbox.next().catch((error: unknown) => {
          working = false
          throw error
        })
        // After an abort, only the end of the work matters.
        if (signal.aborted && report.type !== 'done') {
          if (report.type === 'text') late(1)
          continue
        }
        switch (report.type) {
          case 'prompt-read':
            cachedInputTokens = report.cachedTokens
            prefillMs = report.prefillMs
            yield { type: 'prompt-read', inputTokens: tokens.length, cachedInputTokens }
            break
          case 'prompt-tokens':
            yield { type: 'prompt-tokens', choice: 0, promptTokens: report.tokens }
            break
          case 'text': {
            const { choice, text, tokens: generated } = report
            yield { type: 'raw-text', choice, text, ...(generated !== undefined && { tokens: generated }) }
            break
          }
          case 'choice-done': {
            const { choice, reason, stopSequence } = report
            yield { type: 'finish', choice, reason, ...(stopSequence !== undefined && { stopSequence }) }
            break
          }
          case 'done': {
            working = false
            const { cancelled, outputTokens, reasoningTokens, decodeMs } = report
            if (cancelled || signal.aborted) throw AppError.from(signal.reason)
            const usage = { inputTokens: tokens.length, cachedInputTokens, outputTokens, reasoningTokens }
            yield { type: 'usage', usage, timings: { templateMs, prefillMs, decodeMs } }
            break
          }
          case 'log':
          case 'pong':
          case 'loading':
          case 'ready':
          case 'load-failed':
          case 'prepared':
          case 'template-used':
          case 'answered':
          case 'failed':
            throw unexpected(report)
        }
      }
    } finally {
      signal.removeEventListener('abort', cancel)
      if (working) await this.#stopWork(inbox, { cancel, late })
      this.#inboxes.close(id)
    }
  }

  /** The reader left early: the slot is free only when the worker has stopped the work, or has ended. */
  async #stopWork(inbox: Inbox, { cancel, late }: { cancel(): void; late: OnLateTokens }): Promise<void> {
    cancel()
    try {
      for (let report = await inbox.next(); report.type !== 'done'; report = await inbox.next()) {
        if (report.type === 'text') late(1)
      }
    } catch {
      // The request failed or its worker ended: in both cases the work has stopped.
    }
  }
}
