import type { OutputFormat } from '../../../contract/output-format.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import { threadModule } from '../../../threads/thread-module.ts'
import { wantedOf } from '../../constraint/answer-grammar.ts'
import { CompilerThreads } from '../../constraint/compiler-threads.ts'
import type { ReasoningFront } from '../../front/reasoning-grammar.ts'
import type { OutputPlan } from '../channel/ipc.ts'
import type { CompiledGrammar } from './compile-grammar.ts'

/** How to read and constrain an output; `structured`: how much of the wanted structure the grammar enforces. */
export type CompiledPlan = { readonly plan: OutputPlan; readonly structured: CompiledGrammar['structured'] }

/** The properties of the model that a grammar depends on. */
type Context = {
  readonly format?: OutputFormat | undefined
  readonly reasoningFront: ReasoningFront
  readonly endTexts: readonly string[]
}

/** Compiles the constraints of requests in the main process: on the model's own process, a caller's schema would delay every running output. */
export class PlanCompiler {
  readonly #threads = new CompilerThreads<CompiledGrammar>(threadModule('plan-thread', import.meta.url))
  readonly #options: { readonly constrainsAllTools?: boolean }

  constructor(options: { readonly constrainsAllTools?: boolean } = {}) {
    this.#options = options
  }

  /** Rejects as `CompilerThreads` does. */
  async compile(request: GenerationRequest, context: Context, signal: AbortSignal): Promise<CompiledPlan> {
    const { format, reasoningFront: front, endTexts } = context
    const wanted = wantedOf(request, this.#options)
    const compiled =
      wanted === undefined ? undefined : await this.#threads.compile({ wanted, context: { format, endTexts }, front }, signal)
    return { plan: { format, grammar: compiled?.grammar }, structured: compiled?.structured }
  }

  close(): Promise<void> {
    return this.#threads.close()
  }
}
