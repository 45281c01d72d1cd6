import { emitAll } from '../../core/emit.ts'
import type {
  Embeddings,
  EmbedInput,
  Engine,
  EngineFacts,
  EngineState,
  PreparedGeneration,
  Ranking,
  RankRequest,
  RenderRequest,
  TemplateChoice,
  TokenizeRequest,
} from '../../core/engine.ts'
import { AppError } from '../../core/errors.ts'
import type { EngineEvent } from '../../core/event.ts'
import type { GenerationRequest, Sampling } from '../../core/request.ts'
import type { SupervisorLog } from '../supervise.ts'
import { refuseMissingOwn, templateFacts } from '../template-choice.ts'
import { refuseNonText, refuseUnknownIds, refuseUnknownTokens } from './check-request.ts'
import { decodeFailure } from './failure.ts'
import { Inbox } from './inbox.ts'
import type { Command, LoadOptions, Report, Shape } from './ipc.ts'
import { orAborted } from './or-aborted.ts'
import { type SpawnWorker, spawnWorker } from './process.ts'
import type { Answer, Question } from './questions.ts'
import { resolveSampling, samplingDefaults } from './resolve-sampling.ts'
import { Supervisor } from './supervisor.ts'

export type LlamaEngineOptions = {
  readonly id: string
  /** Finds or fetches the model file; runs before each start of the worker. */
  readonly locate: (signal: AbortSignal) => Promise<LoadOptions>
  /** What the configuration says of sampling; it wins over the model's file. */
  readonly sampling?: Sampling
  readonly log: SupervisorLog
  readonly spawn?: SpawnWorker
  /** How long rendering and tokenizing a prompt may take before the worker counts as hung. */
  readonly prepareTimeoutMs?: number
}

/** A request as the worker has prepared it. */
type Prepared = {
  readonly tokens: Uint32Array
  readonly templateMs: number
  readonly shape: Shape
  readonly structured?: 'full' | 'partial' | undefined
  /** Which of the switched templates it was prepared with. */
  readonly templateEdition: number
}

/** What was begun must be finished: the worker does it whoever has left by then. */
const never = new AbortController().signal

/** Runs a GGUF model with llama.cpp in a supervised child process. */
export class LlamaEngine implements Engine {
  readonly #id: string
  readonly #sampling: Sampling
  readonly #prepareTimeoutMs: number
  readonly #supervisor: Supervisor
  /** The failure that all requests of the last worker got, if that worker was ended by somebody else. */
  #endedFromOutside: AppError | undefined
  #asked = 0
  #template: TemplateChoice = { type: 'own' }
  #templateEdition = 0
  /** One per message exchange with the worker: a `prepare`, an `ask` or a `run`. */
  readonly #inboxes = new Map<string, Inbox>()
  #tokensAfterCancel = 0

  constructor({ id, locate, sampling = {}, log, spawn = spawnWorker, prepareTimeoutMs = 60_000 }: LlamaEngineOptions) {
    this.#id = id
    this.#sampling = sampling
    this.#prepareTimeoutMs = prepareTimeoutMs
    this.#supervisor = new Supervisor({
      model: id,
      locate: async (signal) => ({ ...(await locate(signal)), template: this.#template }),
      spawn,
      log,
      onReport: (report) => this.#onReport(report),
      onExit: (error, exit) => {
        this.#endedFromOutside = exit.fromOutside ? error : undefined
        for (const inbox of this.#inboxes.values()) inbox.fail(error)
      },
    })
  }

  get state(): EngineState {
    return this.#supervisor.state
  }

  get tokensAfterCancel(): number {
    return this.#tokensAfterCancel
  }

  get facts(): EngineFacts {
    const loaded = this.#supervisor.loaded
    if (loaded === undefined) return {}
    const { description: _, fileSampling, chatTemplate, ...facts } = loaded
    const sampling = samplingDefaults({ file: fileSampling.sampling, config: this.#sampling })
    return { ...facts, sampling, ...templateFacts(this.#template, chatTemplate) }
  }

  async ensureReady(signal: AbortSignal): Promise<void> {
    await this.#supervisor.ensureReady(signal)
  }

  async prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
    refuseNonText(request, this.#id)
    const { vocabularySize } = await this.#supervisor.ensureReady(signal)
    refuseUnknownTokens(request, vocabularySize)
    const prepared = await orAborted(
      this.#onThisOrNextWorker(() => this.#prepareOnWorker(request), signal),
      signal,
    )
    const { tokens, shape, structured } = prepared
    return {
      inputTokens: tokens.length,
      ...(shape.format !== undefined && { outputFormat: shape.format }),
      ...(structured !== undefined && { structured }),
      // A grammar for nothing but calls refuses strict tools that it cannot keep; elsewhere there may be calls beside it.
      callsAreCertain: request.toolChoice.type === 'required',
      tellsPrompt: true,
      keepsMinimum: true,
      run: (runSignal, emit) => emitAll(this.#run(request, prepared, runSignal), emit),
    }
  }

  async tokenize({ prompt, reasoning, addBos, parseSpecial }: TokenizeRequest, signal: AbortSignal): Promise<readonly number[]> {
    refuseNonText({ prompt }, this.#id)
    const question = { type: 'tokenize', prompt, reasoning, addBos, parseSpecial } as const
    const answer = await this.#ask(question, signal)
    if (answer.type !== 'tokens') throw unexpected(answer)
    return [...answer.tokens]
  }

  async detokenize(
    { tokens, special }: { readonly tokens: readonly number[]; readonly special: boolean },
    signal: AbortSignal,
  ): Promise<string> {
    const { vocabularySize } = await this.#supervisor.ensureReady(signal)
    refuseUnknownIds(tokens, { vocabularySize, param: 'tokens' })
    const answer = await this.#ask({ type: 'detokenize', tokens: Uint32Array.from(tokens), special }, signal)
    if (answer.type !== 'text') throw unexpected(answer)
    return answer.text
  }

  async render({ prompt, reasoning }: RenderRequest, signal: AbortSignal): Promise<string> {
    refuseNonText({ prompt }, this.#id)
    const answer = await this.#ask({ type: 'render', prompt, reasoning }, signal)
    if (answer.type !== 'text') throw unexpected(answer)
    return answer.text
  }

  async useTemplate(choice: TemplateChoice, signal: AbortSignal): Promise<void> {
    const { chatTemplate: own } = await this.#supervisor.ensureReady(signal)
    refuseMissingOwn(choice, own)
    const change = () => {
      // Counted when it is sent: what is sent to be prepared after that is prepared with the new one.
      this.#templateEdition += 1
      return this.#exchange({ type: 'use-template', id: this.#nextId(), choice }, 'template-used', this.#prepareTimeoutMs)
    }
    await this.#onThisOrNextWorker(change, never)
    this.#template = choice
  }

  async embed(inputs: readonly EmbedInput[], signal: AbortSignal): Promise<Embeddings> {
    const { vocabularySize } = await this.#supervisor.ensureReady(signal)
    for (const [index, input] of inputs.entries()) {
      const param = inputs.length === 1 ? 'input' : `input[${index}]`
      if (input.type === 'tokens') refuseUnknownIds(input.tokens, { vocabularySize, param })
    }
    const answer = await this.#compute({ type: 'embed', inputs }, signal)
    if (answer.type !== 'vectors') throw unexpected(answer)
    return answer
  }

  async rank({ query, texts }: RankRequest, signal: AbortSignal): Promise<Ranking> {
    await this.#supervisor.ensureReady(signal)
    const question: Question = { type: 'rank', texts: [...texts], ...(query !== undefined && { query }) }
    const answer = await this.#compute(question, signal)
    if (answer.type !== 'scores') throw unexpected(answer)
    return answer
  }

  async close(): Promise<void> {
    await this.#supervisor.stop()
  }

  async #prepareOnWorker(request: GenerationRequest): Promise<Prepared> {
    const templateEdition = this.#templateEdition
    const { id, prompt, maxOutputTokens, output, outputParam, toolChoice, parallelToolCalls, reasoning } = request
    const wanted = { prompt, output, toolChoice, parallelToolCalls, reasoning }
    const limit = maxOutputTokens === undefined ? {} : { maxOutputTokens }
    const about = outputParam === undefined ? {} : { outputParam }
    const command = { type: 'prepare', id, ...wanted, ...about, ...limit } as const
    return { ...(await this.#exchange(command, 'prepared', this.#prepareTimeoutMs)), templateEdition }
  }

  async #ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const ask = async () => {
      const command = { type: 'ask', id: this.#nextId(), question } as const
      return (await this.#exchange(command, 'answered', this.#prepareTimeoutMs)).answer
    }
    await this.#supervisor.ensureReady(signal)
    return orAborted(this.#onThisOrNextWorker(ask, signal), signal)
  }

  /** The slot is free only when the worker has stopped: its answer is waited for, also when nobody wants it any more. */
  async #compute(question: Question, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted()
    const id = this.#nextId()
    const cancel = () => this.#supervisor.steer({ type: 'cancel', id })
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const { answer } = await this.#exchange({ type: 'ask', id, question }, 'answered')
      if (answer.type === 'cancelled') throw AppError.from(signal.reason)
      return answer
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  /** Requests have ids of their protocols, which never look like this. */
  #nextId(): string {
    this.#asked += 1
    return `ask ${this.#asked}`
  }

  /** Once more when somebody else ended the worker: that was not the request's doing, and nothing was answered yet. */
  async #onThisOrNextWorker<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error !== this.#endedFromOutside) throw error
      await this.#supervisor.ensureReady(signal)
      return work()
    }
  }

  /**
   * A command with one answer. Goes on until the worker has answered or is gone, whoever has left by then: that is how a
   * worker is noticed that hangs for longer than `timeoutMs`.
   */
  async #exchange<T extends 'prepared' | 'answered' | 'template-used'>(
    command: Extract<Command, { type: 'prepare' | 'ask' | 'use-template' }>,
    expected: T,
    timeoutMs?: number,
  ): Promise<Extract<Report, { type: T }>> {
    const inbox = this.#open(command.id)
    const onHung = () => {
      const message = `preparing this prompt took longer than ${timeoutMs} ms; its chat template may never end`
      inbox.fail(new AppError('template-failed', message, { param: 'messages' }))
      this.#supervisor.abandon(message)
    }
    const watchdog = timeoutMs === undefined ? undefined : setTimeout(onHung, timeoutMs)
    try {
      this.#supervisor.send(command)
      const report = await inbox.next()
      if (report.type !== expected) throw unexpected(report)
      return report as Extract<Report, { type: T }>
    } finally {
      clearTimeout(watchdog)
      this.#inboxes.delete(command.id)
    }
  }

  async *#run(
    request: GenerationRequest,
    { tokens, templateMs, shape, templateEdition }: Prepared,
    signal: AbortSignal,
  ): AsyncGenerator<EngineEvent, void, void> {
    // The worker may have crashed and come back since the prompt was prepared; the tokens are still right.
    const { contextLength, fileSampling } = await this.#supervisor.ensureReady(signal)
    if (request.prompt.type === 'chat' && templateEdition !== this.#templateEdition) throw switched()
    const { id } = request
    const inbox = this.#open(id)
    const cancel = () => this.#supervisor.steer({ type: 'cancel', id })
    signal.addEventListener('abort', cancel, { once: true })
    const room = contextLength - tokens.length
    const { promptTokens, minOutputTokens } = request
    const { budgetTokens } = request.reasoning
    let working = false
    let cachedInputTokens = 0
    let prefillMs = 0
    try {
      this.#supervisor.send({
        type: 'run',
        id,
        tokens,
        maxOutputTokens: Math.min(request.maxOutputTokens ?? room, room),
        stop: [...request.stop],
        ignoreEos: request.ignoreEos,
        sampling: resolveSampling({ file: fileSampling.sampling, config: this.#sampling, request: request.sampling }),
        choices: request.choices,
        shape,
        ...(request.logprobs !== undefined && { topLogprobs: request.logprobs.top }),
        ...(minOutputTokens !== undefined && { minOutputTokens }),
        ...(promptTokens !== undefined && { tellPrompt: tellPrompt(promptTokens) }),
        ...(budgetTokens !== undefined && { reasoningBudget: budgetTokens }),
      })
      working = true
      if (signal.aborted) cancel()
      while (working) {
        const report = await inbox.next().catch((error: unknown) => {
          working = false
          throw error
        })
        // What was under way when the request was given up: only that the work has ended still matters.
        if (signal.aborted && report.type !== 'done') {
          if (report.type === 'text') this.#tokensAfterCancel += 1
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
      if (working) await this.#stopWork(inbox, cancel)
      this.#inboxes.delete(id)
    }
  }

  /** The reader left early: the slot is free only when the worker says that it has stopped, or is gone. */
  async #stopWork(inbox: Inbox, cancel: () => void): Promise<void> {
    cancel()
    try {
      for (let report = await inbox.next(); report.type !== 'done'; report = await inbox.next()) {
        if (report.type === 'text') this.#tokensAfterCancel += 1
      }
    } catch {
      // The request failed or its worker ended: either way nothing works on it any more.
    }
  }

  #open(id: string): Inbox {
    const inbox = new Inbox({
      onFull: () => this.#supervisor.steer({ type: 'pause', id }),
      onDrained: () => this.#supervisor.steer({ type: 'resume', id }),
    })
    this.#inboxes.set(id, inbox)
    return inbox
  }

  #onReport(report: Report): void {
    if (!('id' in report)) return
    // A late answer to a request that has left concerns nobody.
    const inbox = this.#inboxes.get(report.id)
    if (report.type === 'failed') inbox?.fail(decodeFailure(report.failure))
    else inbox?.push(report)
  }
}

function tellPrompt({ logprobs }: NonNullable<GenerationRequest['promptTokens']>): { topLogprobs?: number } {
  return logprobs === undefined ? {} : { topLogprobs: logprobs.top }
}

/** Its text would be read as the earlier template makes the model write. */
function switched(): AppError {
  return new AppError('request-conflict', "the model's chat template was switched while this request waited; send it again")
}

function unexpected({ type }: Report | Answer): AppError {
  return new AppError('internal', `the worker answered with an unexpected '${type}' message`)
}
