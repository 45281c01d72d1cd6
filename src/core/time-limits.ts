import { AwakeClock, afterAwake } from '../base/time/awake.ts'
import type { RequestContext } from '../contract/context.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent } from '../contract/event.ts'

const never = Number.POSITIVE_INFINITY

type Limited = Pick<RequestContext, 'model' | 'signal' | 'onLimit'>

/** Runs work of an engine that generates no tokens, within the time limit of a first token. */
export async function workInTime<T>({ model, onLimit }: Limited, work: () => Promise<T>): Promise<T> {
  const limitMs = model.limits?.firstTokenMs
  const cancel = limitMs === undefined ? undefined : afterAwake(limitMs, () => onLimit?.(firstTokenTimeout(limitMs)))
  try {
    return await work()
  } finally {
    cancel?.()
  }
}

/** Watches one run of an engine, and stops its request at a time limit. Close it. */
export class RunClock {
  readonly #limits: NonNullable<RequestContext['model']['limits']>
  readonly #onLimit: RequestContext['onLimit']
  readonly #clock = new AwakeClock()
  readonly #startMs: number
  #firstMs: number | undefined = undefined
  #lastMs: number
  #isPaused = false
  #cancelWake: (() => void) | undefined = undefined
  #wakesAtMs = never

  constructor({ model, onLimit }: Limited) {
    this.#limits = model.limits ?? {}
    this.#onLimit = onLimit
    this.#startMs = this.#clock.now()
    this.#lastMs = this.#startMs
    this.#check()
  }

  observe({ type }: EngineEvent): void {
    if (type !== 'prompt-read' && type !== 'prompt-progress' && type !== 'prompt-tokens') this.advance()
  }

  /** A part of the answer has arrived. */
  advance(): void {
    this.#lastMs = this.#clock.now()
    if (this.#firstMs !== undefined) return
    this.#firstMs = this.#lastMs
    this.#check()
  }

  /** Passes a promise through; until it settles, the engine is waiting for the reader and does not stall. */
  async pausedFor(reader: Promise<void>): Promise<void> {
    this.#isPaused = true
    try {
      await reader
    } finally {
      this.#isPaused = false
      this.#lastMs = this.#clock.now()
    }
  }

  close(): void {
    this.#cancelWake?.()
  }

  /** Stops the request if a limit is reached; otherwise checks again when the next one is due. */
  #check(): void {
    const nowMs = this.#clock.now()
    const { stallMs = never, generationMs = never, firstTokenMs = never } = this.#limits
    const firstAtMs = this.#firstMs === undefined ? this.#startMs + firstTokenMs : never
    const stallAtMs = this.#firstMs === undefined ? never : (this.#isPaused ? nowMs : this.#lastMs) + stallMs
    const endAtMs = this.#firstMs === undefined ? never : this.#firstMs + generationMs
    const nextMs = Math.min(firstAtMs, stallAtMs, endAtMs)
    if (nextMs <= nowMs) {
      if (nextMs === firstAtMs) this.#onLimit?.(firstTokenTimeout(firstTokenMs))
      else this.#onLimit?.(nextMs === stallAtMs ? stallTimeout(stallMs) : wallClock(generationMs))
      return
    }
    // An earlier timer will check again: most requests need only one, because the first is due no later than a stall could be.
    if (this.#wakesAtMs <= nextMs) return
    this.#cancelWake?.()
    this.#wakesAtMs = Math.min(nextMs, nowMs + stallMs)
    if (this.#wakesAtMs < never) this.#cancelWake = this.#clock.after(this.#wakesAtMs - nowMs, this.#wake)
  }

  readonly #wake = (): void => {
    this.#wakesAtMs = never
    this.#check()
  }
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
