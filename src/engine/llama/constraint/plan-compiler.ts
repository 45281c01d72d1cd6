import { LruMap } from '../../../base/lru-map.ts'
import { callableTools, enforcedTools, functionTools } from '../../../canonical/callable-tools.ts'
import { AppError } from '../../../contract/errors.ts'
import type { OutputFormat } from '../../../contract/output-format.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import { tookTooLong } from '../../../threads/grammar-compiler.ts'
import { threadModule } from '../../../threads/thread-module.ts'
import { ThreadPool } from '../../../threads/thread-pool.ts'
import { resultOf, type ThreadReply } from '../../../threads/thread-reply.ts'
import type { Wanted } from '../../constraint/constraint.ts'
import type { ReasoningFront } from '../../front/reasoning-grammar.ts'
import type { OutputPlan } from '../channel/ipc.ts'
import { shortHash } from '../channel/short-hash.ts'
import type { CompiledGrammar, GrammarRequest } from './compile-grammar.ts'

/** How to read and constrain an output; `structured`: how much of the wanted structure the grammar enforces. */
export type CompiledPlan = { readonly plan: OutputPlan; readonly structured: CompiledGrammar['structured'] }

/** The properties of the model that a grammar depends on. */
type Context = {
  readonly format?: OutputFormat | undefined
  readonly reasoningFront: ReasoningFront
  readonly endTexts: readonly string[]
}

/** The limits of the grammar stop the work after about a second; a busy machine needs longer. */
const timeoutMs = 10_000
const keptGrammars = 32

/**
 * Compiles the constraints of requests in threads of the main process: on the model's own process, a caller's schema would delay every
 * running output. Remembers the most recent ones.
 */
export class PlanCompiler {
  readonly #threads = new ThreadPool<GrammarRequest, ThreadReply<CompiledGrammar | undefined>>({
    module: threadModule('plan-thread', import.meta.url),
    timeoutMs,
  })
  readonly #grammars = new LruMap<string, CompiledGrammar>({ max: keptGrammars })
  readonly #constrainsAllTools: boolean
  #isClosed = false

  constructor({ constrainsAllTools = false }: { readonly constrainsAllTools?: boolean } = {}) {
    this.#constrainsAllTools = constrainsAllTools
  }

  /** Rejects with the request's failure, with `unsupported-field` after the time limit, and with the reason of an abort. */
  async compile(request: GenerationRequest, context: Context, signal: AbortSignal): Promise<CompiledPlan> {
    const { format, reasoningFront: front, endTexts } = context
    const { prompt, output, toolChoice, parallelToolCalls } = request
    const tools = prompt.type === 'chat' ? enforcedTools(functionTools(prompt.tools)) : []
    const wanted = { output, tools, toolChoice, parallelToolCalls, constrainsAllTools: this.#constrainsAllTools }
    const compiled = isConstrained(wanted)
      ? await this.#find({ wanted, context: { format, endTexts }, front }, signal)
      : undefined
    return { plan: { format, grammar: compiled?.grammar }, structured: compiled?.structured }
  }

  async #find(request: GrammarRequest, signal: AbortSignal): Promise<CompiledGrammar | undefined> {
    const key = shortHash(JSON.stringify(request))
    const known = this.#grammars.get(key)
    if (known !== undefined) return known
    const grammar = await this.#compile(request, signal)
    return grammar && this.#grammars.set(key, grammar)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#threads.close()
  }

  async #compile(request: GrammarRequest, signal: AbortSignal): Promise<CompiledGrammar | undefined> {
    const reply = await this.#threads.request(request, signal)
    if (reply !== undefined) return resultOf(reply)
    if (signal.aborted) throw AppError.from(signal.reason)
    throw this.#isClosed ? new AppError('model-unavailable', 'the model was unloaded') : tookTooLong()
  }
}

/** Whether anything in a request constrains its output. */
function isConstrained({ output, toolChoice, tools, constrainsAllTools }: Wanted): boolean {
  if (output.type !== 'text' || toolChoice.type === 'required') return true
  return callableTools(tools, toolChoice).some(({ strict }) => strict === true || constrainsAllTools === true)
}
