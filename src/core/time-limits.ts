import type { RequestContext } from '../contract/context.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent } from '../contract/event.ts'
import type { RequestCost, Ticket } from '../contract/scheduler.ts'

type Limited = Pick<RequestContext, 'model' | 'signal' | 'onLimit'>

/** Takes a slot of the model; undefined when one is free. A request that waits for longer than its limit is stopped. */
export function slotInTime(ticket: Ticket, cost: RequestCost, { model, signal, onLimit }: Limited): Promise<void> | undefined {
  const waiting = ticket.slot(cost, signal)
  const limitMs = model.limits?.queueMs
  if (waiting === undefined || limitMs === undefined) return waiting
  const timer = setTimeout(() => onLimit?.(queueTimeout(limitMs)), limitMs)
  return waiting.finally(() => clearTimeout(timer))
}

/** Runs work of an engine that generates no tokens: it has the time of a first token. */
export async function workInTime<T>({ model, onLimit }: Limited, work: () => Promise<T>): Promise<T> {
  const limitMs = model.limits?.firstTokenMs
  const timer = limitMs === undefined ? undefined : setTimeout(() => onLimit?.(firstTokenTimeout(limitMs)), limitMs)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

/** Watches one run of an engine, and stops its request when it reaches a limit. Close it. */
export class RunClock {
  readonly #limits: NonNullable<RequestContext['model']['limits']>
  readonly #now: () => number
  readonly #onLimit: RequestContext['onLimit']
  readonly #startMs: number
  #firstMs: number | undefined = undefined
  #lastMs: number
  #isPaused = false
  #timer: NodeJS.Timeout | undefined = undefined

  constructor({ model, onLimit }: Limited, now: () => number) {
    this.#limits = model.limits ?? {}
    this.#now = now
    this.#onLimit = onLimit
    this.#startMs = now()
    this.#lastMs = this.#startMs
    this.#check()
  }

  observe({ type }: EngineEvent): void {
    if (type !== 'prompt-read' && type !== 'prompt-tokens') this.advance()
  }

  /** A part of the answer has come. */
  advance(): void {
    this.#lastMs = this.#now()
    if (this.#firstMs !== undefined) return
    this.#firstMs = this.#lastMs
    this.#check()
  }

  /** The same promise; until it settles, the engine waits for the reader and does not stall. */
  async pausedFor(reader: Promise<void>): Promise<void> {
    this.#isPaused = true
    try {
      await reader
    } finally {
      this.#isPaused = false
      this.#lastMs = this.#now()
    }
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  /** Stops the request if a limit is reached, or comes back when the next one is due. */
  readonly #check = (): void => {
    clearTimeout(this.#timer)
    const { firstTokenMs, stallMs, generationMs } = this.#limits
    const nowMs = this.#now()
    const due: { readonly atMs: number; error(): AppError }[] = []
    if (this.#firstMs === undefined) {
      if (firstTokenMs !== undefined)
        due.push({ atMs: this.#startMs + firstTokenMs, error: () => firstTokenTimeout(firstTokenMs) })
    } else {
      const lastMs = this.#isPaused ? nowMs : this.#lastMs
      if (stallMs !== undefined) due.push({ atMs: lastMs + stallMs, error: () => stallTimeout(stallMs) })
      if (generationMs !== undefined) due.push({ atMs: this.#firstMs + generationMs, error: () => wallClock(generationMs) })
    }
    const [next] = due.sort((one, other) => one.atMs - other.atMs)
    if (next === undefined) return
    if (next.atMs <= nowMs) this.#onLimit?.(next.error())
    else this.#timer = setTimeout(this.#check, next.atMs - nowMs)
  }
}

function queueTimeout(limitMs: number): AppError {
  const message = `the request waited for a slot of the model for ${limitMs} ms, its limit (limits.queueMs); try again later`
  return new AppError('queue-timeout', message, { stopsRun: true })
}

function firstTokenTimeout(limitMs: number): AppError {
  const message = `the model did not begin to answer within ${limitMs} ms, its limit (limits.firstTokenMs); shorten the prompt, or raise the limit`
  return new AppError('first-token-timeout', message, { stopsRun: true })
}

function stallTimeout(limitMs: number): AppError {
  const message = `the model generated nothing for ${limitMs} ms in the middle of its answer, its limit (limits.stallMs); try again`
  return new AppError('stall-timeout', message, { stopsRun: true })
}

function wallClock(limitMs: number): AppError {
  const message = `the model generated for ${limitMs} ms, its limit (limits.generationMs)`
  return new AppError('cancelled', message, { stopsRun: true, keepsOutput: 'length' })
}
