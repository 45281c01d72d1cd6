import type { Engine, EngineFacts, EngineState, PreparedGeneration } from '../../core/engine.ts'
import { AppError, isErrorCode } from '../../core/errors.ts'
import type { EngineEvent } from '../../core/event.ts'
import type { GenerationRequest, Sampling } from '../../core/request.ts'
import { refuseMedia, refuseUnknownTokens } from './check-request.ts'
import { Inbox } from './inbox.ts'
import type { Failure, LoadOptions, Report, Shape } from './ipc.ts'
import { type SpawnWorker, spawnWorker } from './process.ts'
import { resolveSampling } from './resolve-sampling.ts'
import { Supervisor, type SupervisorLog } from './supervisor.ts'

export type LlamaEngineOptions = {
  readonly id: string
  /** Finds or fetches the model file; runs before each start of the worker. */
  readonly locate: (signal: AbortSignal) => Promise<LoadOptions>
  /** The model's own sampling defaults. */
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
}

/** Runs a GGUF model with llama.cpp in a supervised child process. */
export class LlamaEngine implements Engine {
  readonly #id: string
  readonly #sampling: Sampling
  readonly #prepareTimeoutMs: number
  readonly #supervisor: Supervisor
  /** The failure that all requests of the last worker got, if that worker was ended by somebody else. */
  #endedFromOutside: AppError | undefined
  /** One per message exchange with the worker: a `prepare` or a `run`. */
  readonly #inboxes = new Map<string, Inbox>()

  constructor({ id, locate, sampling = {}, log, spawn = spawnWorker, prepareTimeoutMs = 60_000 }: LlamaEngineOptions) {
    this.#id = id
    this.#sampling = sampling
    this.#prepareTimeoutMs = prepareTimeoutMs
    this.#supervisor = new Supervisor({
      model: id,
      locate,
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

  get facts(): EngineFacts {
    const loaded = this.#supervisor.loaded
    return loaded === undefined ? {} : { contextLength: loaded.contextLength, vocabularySize: loaded.vocabularySize }
  }

  async ensureReady(signal: AbortSignal): Promise<void> {
    await this.#supervisor.ensureReady(signal)
  }

  async prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
    refuseMedia(request, this.#id)
    const { vocabularySize } = await this.#supervisor.ensureReady(signal)
    refuseUnknownTokens(request, vocabularySize)
    const prepared = await orAborted(
      this.#prepareOnWorker(request).catch(async (error: unknown) => {
        // Not this prompt's doing, and nothing was answered yet: once more, on the next worker.
        if (error !== this.#endedFromOutside) throw error
        await this.#supervisor.ensureReady(signal)
        return this.#prepareOnWorker(request)
      }),
      signal,
    )
    const { tokens, shape, structured } = prepared
    return {
      inputTokens: tokens.length,
      ...(shape.format !== undefined && { outputFormat: shape.format }),
      ...(structured !== undefined && { structured }),
      run: (runSignal) => this.#run(request, prepared, runSignal),
    }
  }

  async close(): Promise<void> {
    await this.#supervisor.stop()
  }

  /** Goes on until the worker has answered or is gone, whoever has left by then: that is how a hung worker is noticed. */
  async #prepareOnWorker(request: GenerationRequest): Promise<Prepared> {
    const { id, prompt, maxOutputTokens, output, toolChoice, parallelToolCalls, reasoning } = request
    const inbox = this.#open(id)
    const watchdog = setTimeout(() => {
      const message = `preparing this prompt took longer than ${this.#prepareTimeoutMs} ms; its chat template may never end`
      inbox.fail(new AppError('template-failed', message, { param: 'messages' }))
      this.#supervisor.abandon(message)
    }, this.#prepareTimeoutMs)
    try {
      const wanted = { output, toolChoice, parallelToolCalls, reasoning }
      this.#supervisor.send({
        type: 'prepare',
        id,
        prompt,
        ...wanted,
        ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      })
      const report = await inbox.next()
      if (report.type !== 'prepared') throw unexpected(report)
      return report
    } finally {
      clearTimeout(watchdog)
      this.#inboxes.delete(id)
    }
  }

  async *#run(
    request: GenerationRequest,
    { tokens, templateMs, shape }: Prepared,
    signal: AbortSignal,
  ): AsyncGenerator<EngineEvent, void, void> {
    // The worker may have crashed and come back since the prompt was prepared; the tokens are still right.
    const { contextLength } = await this.#supervisor.ensureReady(signal)
    const { id } = request
    const inbox = this.#open(id)
    const cancel = () => this.#supervisor.steer({ type: 'cancel', id })
    signal.addEventListener('abort', cancel, { once: true })
    const room = contextLength - tokens.length
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
        sampling: resolveSampling(request.sampling, this.#sampling),
        choices: request.choices,
        shape,
        ...(request.logprobs !== undefined && { topLogprobs: request.logprobs.top }),
        ...(budgetTokens !== undefined && { reasoningBudget: budgetTokens }),
      })
      working = true
      if (signal.aborted) cancel()
      while (working) {
        const report = await inbox.next().catch((error: unknown) => {
          working = false
          throw error
        })
        switch (report.type) {
          case 'prompt-read':
            cachedInputTokens = report.cachedTokens
            prefillMs = report.prefillMs
            yield { type: 'prompt-read', inputTokens: tokens.length, cachedInputTokens }
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
            if (cancelled) throw AppError.from(signal.reason)
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
      while ((await inbox.next()).type !== 'done');
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

function decodeFailure({ code, message, param, overflow }: Failure): AppError {
  const known = isErrorCode(code) ? code : 'engine-failed'
  return new AppError(known, message, {
    ...(param !== undefined && { param }),
    ...(overflow !== undefined && { overflow }),
  })
}

/** The promise's result, or the signal's reason if that comes first; what the promise does then is nobody's any more. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function unexpected(report: Report): AppError {
  return new AppError('internal', `the worker answered with an unexpected '${report.type}' message`)
}
