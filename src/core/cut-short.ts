import type { Emit } from '../contract/emit.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, FinishReason, GenerationEvent } from '../contract/event.ts'

/** How the choices of a cancelled request end; undefined: it was not cancelled, or fails. */
export function finishOfCancelled(signal: AbortSignal): FinishReason | undefined {
  return signal.aborted ? AppError.from(signal.reason).keepsOutput : undefined
}

/** The choices of a run that have not finished. */
export class OpenChoices {
  readonly #choices: number
  readonly #finished: number[] = []

  constructor(choices: number) {
    this.#choices = choices
  }

  observe(event: EngineEvent): void {
    if (event.type === 'finish') this.#finished.push(event.choice)
  }

  async finish(reason: FinishReason, emit: Emit<Extract<GenerationEvent, { type: 'finish' }>>): Promise<void> {
    const finished = new Set(this.#finished)
    for (let choice = 0; choice < this.#choices; choice++) {
      if (!finished.has(choice)) await emit({ type: 'finish', choice, reason })
    }
  }
}

/** Watches the events of a reply, to complete it when its request is cancelled and keeps its output. */
export class CutShort {
  readonly #choices: OpenChoices
  #hasStarted = false
  #inputTokens = 0
  #cachedInputTokens = 0
  #outputTokens = 0
  #reasoningTokens = 0

  constructor({ choices }: { readonly choices: number }) {
    this.#choices = new OpenChoices(choices)
  }

  observe(event: GenerationEvent): void {
    if (event.type === 'start') {
      this.#hasStarted = true
      this.#inputTokens = event.inputTokens ?? 0
    } else if (event.type === 'prompt-read') {
      this.#inputTokens = event.inputTokens
      this.#cachedInputTokens = event.cachedInputTokens
    } else if ('delta' in event) {
      // Engines count at the end: until then, a piece is taken for a token.
      this.#outputTokens += 1
      if (event.type === 'reasoning-delta') this.#reasoningTokens += 1
    } else this.#choices.observe(event)
  }

  async end(model: string, reason: FinishReason, emit: Emit<GenerationEvent>): Promise<void> {
    if (!this.#hasStarted) await emit({ type: 'start', model, warnings: [] })
    await this.#choices.finish(reason, emit)
    const usage = {
      inputTokens: this.#inputTokens,
      cachedInputTokens: this.#cachedInputTokens,
      outputTokens: this.#outputTokens,
      reasoningTokens: this.#reasoningTokens,
    }
    await emit({ type: 'usage', usage, timings: {} })
  }
}
