import { given } from '../base/json.ts'
import { addUsage } from '../canonical/add-usage.ts'
import type { AttemptEnd, AttemptStart } from '../contract/attempts.ts'
import type { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import type { LoadPlace, OnLoading, OnQueued, QueuePosition } from '../contract/scheduler.ts'
import type { RequestSnapshot, RequestState, SeenAttempt } from '../contract/server/activity.ts'
import type { FinishReason, GenerationRecord, PromptChange, Timings, Usage } from '../contract/usage.ts'
import { isCacheHit } from '../contract/usage.ts'
import type { ArrivedCall, WatchedRequest } from '../contract/watch.ts'

/** State that the records of a process share. */
export type RecordDeps = {
  /** Milliseconds of the epoch. */
  epoch(): number
  /** The totals of all requests. */
  readonly tokens: { input: number; output: number }
  nextChange(): number
  onEnd(record: RequestRecord): void
  onRead(read: Pick<GenerationRecord, 'caller' | 'model' | 'usage' | 'batch'>): void
}

/** A request that ends well makes fewer attempts. */
const mostAttempts = 20

/** A running request. A class, because all requests then share one hidden class. */
export class RequestRecord implements WatchedRequest {
  readonly call: ArrivedCall
  readonly #deps: RecordDeps
  readonly #startedAtMs: number
  /** The number of its last change. */
  change = 0
  isShown = false
  stopped: RequestSnapshot['stopped'] = undefined
  #isClosed = false
  #isReplied: boolean
  #endedAtMs: number | undefined = undefined
  #model: string | undefined = undefined
  #requestedModel: string | undefined = undefined
  #queuePlace: (() => QueuePosition | undefined) | undefined = undefined
  #loadPlace: (() => LoadPlace | undefined) | undefined = undefined
  /** The place that was shown last. */
  #shownPlace = ''
  #phase: 'preparing' | 'reading-prompt' | 'generating' = 'preparing'
  #inputTokens = 0
  #cachedInputTokens = 0
  #outputTokens = 0
  #reasoningTokens = 0
  #usage: Usage | undefined = undefined
  #timings: Timings | undefined = undefined
  #finishReasons: readonly FinishReason[] | undefined = undefined
  #outcome: GenerationRecord['outcome'] | undefined = undefined
  #error: RequestSnapshot['error'] = undefined
  #diverged: PromptChange | undefined = undefined
  #attempts: SeenAttempt[] | undefined = undefined
  #servedBy: string | undefined = undefined

  constructor(call: ArrivedCall, deps: RecordDeps) {
    this.call = call
    this.#deps = deps
    this.#startedAtMs = deps.epoch()
    this.#isReplied = call.hasNoReply === true
  }

  readonly onQueued: OnQueued = (placeOf) => {
    this.#queuePlace = placeOf
    this.#changed()
  }

  readonly onLoading: OnLoading = (placeOf) => {
    this.#loadPlace = placeOf
    this.#changed()
  }

  began(model?: string): void {
    this.isShown = true
    if (model !== undefined) this.#model = model
    this.#changed()
  }

  asked(model: string): void {
    this.#requestedModel = model
  }

  observe(event: EngineEvent | GenerationEvent): void {
    if (event.type === 'raw-text' || 'delta' in event) {
      this.#phase = 'generating'
      // Engines report the count at the end: until then, a piece counts as a token.
      this.#outputTokens += 1
      this.#deps.tokens.output += 1
      if (event.type === 'reasoning-delta') this.#reasoningTokens += 1
    } else if (event.type === 'start') {
      this.#phase = 'reading-prompt'
      this.#outputTokens = 0
      this.#outcome = undefined
      this.#model = event.model
      this.#inputTokens = event.inputTokens ?? 0
      if (event.diverged !== undefined) this.#diverged = event.diverged
    } else if (event.type === 'prompt-read') {
      this.#phase = 'generating'
      this.#inputTokens = event.inputTokens
      this.#cachedInputTokens = event.cachedInputTokens
    } else if (event.type === 'usage') {
      const { inputTokens, cachedInputTokens, outputTokens } = event.usage
      this.#deps.tokens.input += inputTokens - cachedInputTokens
      this.#deps.tokens.output += outputTokens - this.#outputTokens
      this.#outputTokens = outputTokens
      if (event.servedBy !== undefined) this.#servedBy = event.servedBy
    } else return
    this.#changed()
  }

  hasRead(inputTokens: number): void {
    const usage = { inputTokens, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }
    this.#usage = this.#usage === undefined ? usage : addUsage(this.#usage, usage)
    this.#deps.tokens.input += inputTokens
    const { owner: caller, batch } = this.call
    if (this.#model !== undefined) this.#deps.onRead({ caller, batch, model: this.#model, usage })
    this.#changed()
  }

  attempted({ server }: AttemptStart, { outcome, error, firstChunkMs, usage }: AttemptEnd): void {
    this.#attempts ??= []
    if (this.#attempts.length >= mostAttempts) this.#attempts.shift()
    this.#attempts.push({
      server,
      outcome,
      ...given({ error, firstChunkMs }),
      ...(usage !== undefined && isCacheHit(usage) && { isCacheHit: true }),
    })
  }

  ended({ model, outcome, usage, timings, finishReasons }: GenerationRecord, error?: AppError): void {
    this.#model = model
    this.#outcome = outcome
    this.#timings = timings
    this.#finishReasons = finishReasons
    if (usage !== undefined) this.#usage = this.#usage === undefined ? usage : addUsage(this.#usage, usage)
    if (outcome !== 'ok' && outcome !== 'cancelled') this.#error = { code: outcome, ...messageIn(error) }
    this.#changed()
  }

  failed(error: AppError): void {
    if (this.#error?.message === undefined) this.#error = { code: error.code, ...messageIn(error) }
    this.#changed()
  }

  replied(): void {
    this.#isReplied = true
    this.#endIfDone()
  }

  /** The work for the request has ended. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#endedAtMs = this.#deps.epoch()
    this.#changed()
    this.#endIfDone()
  }

  /** The request waits for a slot, or for its model. */
  get isWaiting(): boolean {
    return this.#place() !== undefined
  }

  /** Whether its position in a queue has changed, which is not announced. */
  refresh(): void {
    if (this.#queuePlace === undefined && this.#loadPlace === undefined) return
    const place = JSON.stringify(this.#place() ?? null)
    if (place === this.#shownPlace) return
    this.#shownPlace = place
    this.#changed()
  }

  snapshot(): RequestSnapshot {
    const { id, requestId, owner, route, session, batch } = this.call
    const usage = this.#usage ?? this.#running()
    const [endedAtMs, model, requestedModel] = [this.#endedAtMs, this.#model, this.#requestedModel]
    const [timings, finishReasons, error, diverged] = [this.#timings, this.#finishReasons, this.#error, this.#diverged]
    return {
      id,
      requestId,
      owner,
      route,
      startedAtMs: this.#startedAtMs,
      state: this.#state(),
      ...given({ session, batch, endedAtMs, model, requestedModel, usage, timings, finishReasons, diverged }),
      ...given({ stopped: this.stopped, servedBy: this.#servedBy }),
      ...(error !== undefined && this.stopped === undefined && { error }),
      ...(this.#attempts !== undefined && { attempts: [...this.#attempts] }),
    }
  }

  #state(): RequestState {
    if (this.#isClosed || this.#outcome !== undefined) {
      if (this.stopped !== undefined || this.#outcome === 'cancelled') return { type: 'cancelled' }
      return { type: this.#error === undefined ? 'done' : 'failed' }
    }
    return this.#place() ?? { type: this.#phase }
  }

  #place(): RequestState | undefined {
    const place = this.#loadPlace?.()
    if (place !== undefined) return { type: 'loading', place }
    const position = this.#queuePlace?.()
    return position && { type: 'waiting', ...position }
  }

  #running(): Usage | undefined {
    if (this.#phase === 'preparing') return undefined
    return {
      inputTokens: this.#inputTokens,
      cachedInputTokens: this.#cachedInputTokens,
      outputTokens: this.#outputTokens,
      reasoningTokens: this.#reasoningTokens,
    }
  }

  #changed(): void {
    this.change = this.#deps.nextChange()
  }

  #endIfDone(): void {
    if (this.#isClosed && this.#isReplied) this.#deps.onEnd(this)
  }
}

/** Messages are kept for a while, and may quote a server. */
const maxMessageChars = 1000

function messageIn(error: AppError | undefined): { readonly message?: string } {
  return error === undefined ? {} : { message: error.message.slice(0, maxMessageChars) }
}
