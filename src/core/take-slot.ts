import { afterAwake } from '../base/time/awake.ts'
import type { RequestContext } from '../contract/context.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { RequestCost, Ticket } from '../contract/scheduler.ts'
import { estimatePrompt } from './estimate-tokens.ts'

/** Waits for a request's model to be loaded, each time it is needed, and sums the waiting times. */
export class Loading {
  readonly #now: () => number
  readonly #ticket: Ticket
  readonly #signal: AbortSignal
  #totalMs = 0

  constructor(ticket: Ticket, { now, signal }: { now(): number; readonly signal: AbortSignal }) {
    this.#now = now
    this.#ticket = ticket
    this.#signal = signal
  }

  get totalMs(): number {
    return this.#totalMs
  }

  /** Undefined: the model is loaded. */
  ready(): Promise<void> | undefined {
    const fromMs = this.#now()
    return this.#ticket.ready(this.#signal)?.then(() => {
      this.#totalMs += Math.round(this.#now() - fromMs)
    })
  }
}

/** The largest cost of a request and of the later ones on its ticket. */
export function costOf(
  request: GenerationRequest,
  { inputTokens }: Pick<PreparedGeneration, 'inputTokens'>,
  { later, principal }: { readonly later: readonly GenerationRequest[] } & Pick<RequestContext, 'principal'>,
): RequestCost {
  // Estimating takes time, and matters only with a limit.
  const isLimited = principal.quota?.tokensPerMinute !== undefined
  const first = inputTokens ?? (isLimited ? estimatePrompt(request.prompt) : undefined)
  const others = isLimited ? later.reduce((sum, { prompt }) => sum + estimatePrompt(prompt), 0) : 0
  let maxOutputTokens: number | undefined = 0
  for (const { maxOutputTokens: max, choices } of [request, ...later]) {
    maxOutputTokens = max === undefined || maxOutputTokens === undefined ? undefined : maxOutputTokens + max * choices
  }
  return {
    ...(first !== undefined && { inputTokens: first + others }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  }
}

/** Takes a slot of the model; undefined if one was free. Stops a request that waits for longer than its limit. */
export function takeSlot(
  ticket: Ticket,
  cost: RequestCost,
  { model, signal, onLimit }: Pick<RequestContext, 'model' | 'signal' | 'onLimit'>,
): Promise<void> | undefined {
  const waiting = ticket.slot(cost, signal)
  const limitMs = model.limits?.queueMs
  if (waiting === undefined || limitMs === undefined) return waiting
  return waiting.finally(afterAwake(limitMs, () => onLimit?.(queueTimeout(limitMs))))
}

function queueTimeout(limitMs: number): AppError {
  const message = `the request waited for a slot of the model for ${limitMs} ms, its limit (limits.queueMs); try again later`
  return new AppError('queue-timeout', message, { stopsRun: true })
}
