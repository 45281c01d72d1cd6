import { type Emit, emitAtOnce } from '../../base/emit.ts'
import { randomHex } from '../../base/random-hex.ts'
import type { RequestContext } from '../../contract/context.ts'
import type { GenerationEvent, ServerToolCall } from '../../contract/event.ts'
import type { JsonObject, ToolApproval, ToolCallPart, ToolUse } from '../../contract/request.ts'
import type { ServerTool, ToolOutcome } from '../../contract/server-tool.ts'
import type { AnswerDeps, ToolCallRecord } from './deps.ts'
import { callKey, readArguments } from './heal-arguments.ts'
import type { LoopRules } from './loop-rules.ts'
import { runTool } from './run-tool.ts'

const defaultTimeoutMs = 300_000

/** Without a decision after this time, a call counts as refused. */
const maxWaitMs = 600_000

type Around = {
  readonly use: ToolUse
  readonly context: RequestContext
  readonly tools: ReadonlyMap<string, ServerTool>
  /** The names of the caller's own tools. */
  readonly callers: ReadonlySet<string>
  readonly rules: LoopRules
  readonly emit: Emit<GenerationEvent>
}

/** A call as the conversation has it, and as it is executed. */
export type ReadCall = { readonly part: ToolCallPart; readonly tool: ServerTool | undefined; readonly arguments: JsonObject }

/** The outcome of a call: a result, or it waits for the next request. */
type Answered =
  | { readonly type: 'result'; readonly outcome: ToolOutcome }
  | { readonly type: 'waits'; readonly call: ServerToolCall }

/** Answers the calls of one reply, executing those that may be. */
export class CallRunner {
  readonly #deps: AnswerDeps
  readonly #around: Around
  readonly #ids: Set<string>

  /** `ids`: the call ids in the conversation. */
  constructor(deps: AnswerDeps, around: Around, ids: Iterable<string>) {
    this.#deps = deps
    this.#around = around
    this.#ids = new Set(ids)
  }

  /** Reads a new call of the model, with a unique id and an object as arguments. */
  read(part: ToolCallPart): ReadCall {
    const { id, name } = part
    const { tool, arguments: args } = this.readAgain(part)
    // Waiting calls of all requests share ids, and models count theirs from 0.
    const mayWait = tool !== undefined && this.#around.use.asks === 'with-event' && this.#needsApproval(tool)
    const own = id === '' || mayWait || this.#ids.has(id) ? `call_${randomHex()}` : id
    this.#ids.add(own)
    return { part: { type: 'tool-call', id: own, name, input: JSON.stringify(args) }, tool, arguments: args }
  }

  /** Reads a call of the conversation. */
  readAgain(part: ToolCallPart): ReadCall {
    const { tools, use } = this.#around
    const tool = tools.get(part.name)
    // Repairs include the output of parsers.
    const input = use.heals ? part.input : (part.raw ?? part.input)
    return { part, tool, arguments: readArguments(input, tool ?? { parameters: {} }, use.heals) }
  }

  /** Rejects only with the reason of the request's signal. */
  async answer({ part, tool, arguments: args }: ReadCall, approval?: ToolApproval): Promise<Answered> {
    const { rules, context } = this.#around
    context.signal.throwIfAborted()
    const key = callKey(tool?.name ?? part.name, args)
    const isAdmitted = rules.admits(key)
    if (tool === undefined) {
      rules.note(key, true)
      return { type: 'result', outcome: this.#unknown(part.name) }
    }
    const { name, kind, mcp } = tool
    const call: ServerToolCall = { id: part.id, name, kind, arguments: args, ...(mcp !== undefined && { mcp }) }
    if (!isAdmitted) {
      const text = 'This call was made before, with the same arguments: it was not made again. Use the earlier result.'
      return await this.#finish(call, 'repeated', {
        text,
        isError: true,
        advice: 'Answer with what you know, or call something else.',
      })
    }
    const decision = this.#needsApproval(tool) ? await this.#decide(call, approval) : { isApproved: true }
    if (decision === undefined) return { type: 'waits', call }
    if (!decision.isApproved) {
      const why = decision.reason === undefined || decision.reason === '' ? '' : ` Reason: ${decision.reason.slice(0, 2000)}`
      const text = `The call was not approved, and not made.${why}`
      return await this.#finish(call, 'refused', { text, isError: true, advice: 'Do not try it again; answer without it.' })
    }
    if (!rules.countCall(name)) {
      const text = `The call was not made: the request allows no more calls of ${name}.`
      return await this.#finish(call, 'refused', { text, isError: true, advice: 'Answer with what you know.' })
    }
    const { quota } = context.principal
    if (quota !== undefined && (await this.#deps.admitsToolCall?.(quota)) === false) {
      const text = 'The API key may have no more calls of tools in this minute: this one was not made.'
      return await this.#finish(call, 'refused', { text, isError: true, advice: 'Answer without tools.' })
    }
    context.signal.throwIfAborted()
    return await this.#execute(tool, call, key)
  }

  /** Such a call does not appear in the reply: it stays between the model and us. */
  #unknown(name: string): ToolOutcome {
    const { tools, callers } = this.#around
    this.#record(name, 'unknown', 0)
    const names = [...tools.keys(), ...callers]
    const advice = names.length === 0 ? 'Answer without tools.' : `The tools are: ${names.join(', ')}.`
    return { text: `There is no tool '${name}'.`, isError: true, advice }
  }

  #needsApproval(tool: ServerTool): boolean {
    return this.#around.use.approves === 'all' || tool.needsApproval === true
  }

  /** Undefined: the next request decides. */
  async #decide(call: ServerToolCall, approval: ToolApproval | undefined) {
    const { use, context, emit } = this.#around
    if (approval !== undefined) return approval
    if (use.asks === 'by-ending') return undefined
    const { approvals } = this.#deps
    if (use.asks === 'never' || approvals === undefined)
      return { isApproved: false, reason: 'it needs an approval, which this protocol cannot ask for' }
    const { id: by } = context.principal
    const emitted = emit({ type: 'approval-request', choice: 0, call })
    const over = new AbortController()
    const deciding = approvals.wait({ callId: call.id, owner: by }, AbortSignal.any([context.signal, over.signal]))
    // Awaited below, unless the reader fails before.
    deciding.catch(() => undefined)
    const refuse = () => approvals.decide({ callId: call.id, by, isAdmin: false, isApproved: false, reason: 'nobody answered' })
    const timer = setTimeout(refuse, maxWaitMs)
    try {
      await emitted
      return await deciding
    } finally {
      clearTimeout(timer)
      over.abort()
    }
  }

  async #execute(tool: ServerTool, call: ServerToolCall, key: string): Promise<Answered> {
    const { use, context, rules, emit } = this.#around
    const { principal, signal, session, id, trace } = context
    await emit({ type: 'server-tool-start', choice: 0, call })
    const startedMs = this.#deps.now()
    const span = trace?.beginTool?.({ name: tool.name, id: call.id })
    try {
      const { outcome, how, error } = await runTool(tool, {
        arguments: call.arguments,
        session: { principalId: principal.id, id: use.sessionId ?? session ?? id },
        ...(use.web !== undefined && { web: use.web }),
        signal,
        timeoutMs: use.timeoutMs ?? defaultTimeoutMs,
      })
      rules.note(key, outcome.isError)
      span?.end(how === 'ok' ? undefined : how)
      this.#record(tool.name, how, this.#deps.now() - startedMs, error)
      await emit({ type: 'server-tool-end', choice: 0, id: call.id, outcome })
      return { type: 'result', outcome }
    } catch (reason) {
      span?.end('cancelled')
      this.#record(tool.name, 'cancelled', this.#deps.now() - startedMs)
      emitAtOnce(emit, {
        type: 'server-tool-end',
        choice: 0,
        id: call.id,
        outcome: { text: 'The call was cancelled.', isError: true },
      })
      throw reason
    }
  }

  /** Answers a call without making it. */
  async #finish(call: ServerToolCall, how: ToolCallRecord['outcome'], outcome: ToolOutcome): Promise<Answered> {
    const { emit } = this.#around
    this.#record(call.name, how, 0)
    await emit({ type: 'server-tool-start', choice: 0, call, isMade: false })
    await emit({ type: 'server-tool-end', choice: 0, id: call.id, outcome })
    return { type: 'result', outcome }
  }

  #record(tool: string, outcome: ToolCallRecord['outcome'], durationMs: number, error?: unknown): void {
    const { id, principal } = this.#around.context
    this.#deps.onToolCall?.({ id, caller: principal.id, tool, outcome, durationMs, ...(error !== undefined && { error }) })
  }
}
