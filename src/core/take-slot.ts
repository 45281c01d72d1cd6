import type { RequestContext } from '../contract/context.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { RequestCost, Ticket } from '../contract/scheduler.ts'
import { estimatePrompt } from './estimate-tokens.ts'

/** Waits until a request's model is loaded, as often as it is wanted, and adds up how long that took. */
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

  /** Undefined: it is loaded. */
  ready(): Promise<void> | undefined {
    const fromMs = this.#now()
    return this.#ticket.ready(this.#signal)?.then(() => {
      this.#totalMs += Math.round(this.#now() - fromMs)
    })
  }
}

/** What a request may cost, with those that come after it on the same ticket. */
export function costOf(
  request: GenerationRequest,
  { inputTokens }: Pick<PreparedGeneration, 'inputTokens'>,
  { later, principal }: { readonly later: readonly GenerationRequest[] } & Pick<RequestContext, 'principal'>,
): RequestCost {
  // Estimates take time, and matter where there is a limit.
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

/** Takes a slot of the model; undefined when one is free. A request that waits for longer than its limit is stopped. */
export function takeSlot(
  ticket: Ticket,
  cost: RequestCost,
  { model, signal, onLimit }: Pick<RequestContext, 'model' | 'signal' | 'onLimit'>,
): Promise<void> | undefined {
  const waiting = ticket.slot(cost, signal)
  const limitMs = model.limits?.queueMs
  if (waiting === undefined || limitMs === undefined) return waiting
  const timer = setTimeout(() => onLimit?.(queueTimeout(limitMs)), limitMs)
  return waiting.finally(() => clearTimeout(timer))
}

function queueTimeout(limitMs: number): AppError {
  const message = `the request waited for a slot of the model for ${limitMs} ms, its limit (limits.queueMs); try again later`
  return new AppError('queue-timeout', message, { stopsRun: true })
}
