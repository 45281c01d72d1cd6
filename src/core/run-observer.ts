import type { Emit } from '../base/emit.ts'
import { thousandths } from '../base/thousandths.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, EventOf, FinishReason, GenerationEvent, Usage } from '../contract/event.ts'

/** How the choices of a cancelled request end; undefined: it was not cancelled, or fails. */
export function finishOfCancelled(signal: AbortSignal): FinishReason | undefined {
  return signal.aborted ? AppError.from(signal.reason).keepsOutput : undefined
}

/**
 * Watches a run: its cost, even if it is stopped before the engine reports that, and the missing parts of its reply when it is cancelled.
 */
export class RunObserver {
  readonly #choices: number
  readonly #finished: number[] = []
  #hasStarted = false
  /** The engine has begun to read the prompt. */
  #hasBegun = false
  #inputTokens: number
  #cached: Pick<Usage, 'cachedInputTokens' | 'cachedIn'> = { cachedInputTokens: 0 }
  #outputTokens = 0
  #reasoningTokens = 0
  #reported: number | undefined = undefined

  readonly #now: () => number
  #beganMs: number | undefined = undefined
  #firstMs: number | undefined = undefined

  constructor(choices: number, inputTokens = 0, now = () => 0) {
    this.#choices = choices
    this.#inputTokens = inputTokens
    this.#now = now
  }

  observe(event: EngineEvent | GenerationEvent): void {
    if (event.type === 'raw-text' || 'delta' in event) {
      // Engines report the count at the end: until then, a piece counts as a token.
      this.#hasBegun = true
      this.#firstMs ??= this.#now()
      this.#outputTokens += 1
      if (event.type === 'reasoning-delta') this.#reasoningTokens += 1
    } else if (event.type === 'prompt-read') {
      this.#hasBegun = true
      this.#inputTokens = event.inputTokens
      const { cachedInputTokens, cachedIn } = event
      this.#cached = { cachedInputTokens, ...(cachedIn !== undefined && { cachedIn }) }
    } else if (event.type === 'start') {
      this.#hasStarted = true
      this.#beganMs = this.#now()
      this.#inputTokens = event.inputTokens ?? 0
    } else if (event.type === 'finish') this.#finished.push(event.choice)
    else if (event.type === 'usage') this.#reported = event.usage.inputTokens + event.usage.outputTokens
  }

  /** The tokens that the run has cost. */
  get spent(): number {
    if (this.#reported !== undefined) return this.#reported
    return this.#hasBegun ? this.#inputTokens + this.#outputTokens : 0
  }

  /** Ends the choices that have not finished. */
  async finishOpen(reason: FinishReason, emit: Emit<EventOf<'finish'>>): Promise<void> {
    const finished = new Set(this.#finished)
    for (let choice = 0; choice < this.#choices; choice++) {
      if (!finished.has(choice)) await emit({ type: 'finish', choice, reason })
    }
  }

  /** Ends the reply of a cancelled request that keeps its output. */
  async complete(
    { model, totalMs }: { readonly model: string; readonly totalMs: number },
    reason: FinishReason,
    emit: Emit<GenerationEvent>,
  ): Promise<void> {
    const began = this.#beganMs
    if (!this.#hasStarted) await emit({ type: 'start', model, warnings: [] })
    await this.finishOpen(reason, emit)
    const usage = {
      inputTokens: this.#inputTokens,
      ...this.#cached,
      outputTokens: this.#outputTokens,
      reasoningTokens: this.#reasoningTokens,
    }
    const endMs = this.#now()
    const firstMs = this.#firstMs ?? endMs
    const measured =
      began === undefined ? {} : { prefillMs: thousandths(firstMs - began), decodeMs: thousandths(endMs - firstMs) }
    await emit({ type: 'usage', usage, timings: { ...measured, totalMs } })
  }
}
