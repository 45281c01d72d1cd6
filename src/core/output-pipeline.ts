import { type Emit, inTurn } from '../base/emit.ts'
import { thousandths } from '../base/thousandths.ts'
import { functionTools } from '../canonical/callable-tools.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import type { EngineEvent, FinishReason, GenerationEvent, StartEvent, Timings, Usage } from '../contract/event.ts'
import { isTruncated } from '../contract/is-truncated.ts'
import type { GenerationRequest } from '../contract/request.ts'
import { createOutputParser } from '../model-text/parse/output-parser.ts'
import type { CallCheck } from './checks/check-calls.ts'
import { isJson, type OutputCheck } from './checks/check-output.ts'

type OutputPipelineOptions = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  readonly request: GenerationRequest
  readonly prepared: PreparedGeneration
  /** Why the output limit is shorter than requested: the context sets it. */
  readonly shortened: StartEvent['shortened']
  readonly check: OutputCheck | undefined
  readonly callCheck: CallCheck | undefined
  /** When the request arrived. */
  readonly startedMs: number
  readonly timings: Required<Pick<Timings, 'queueMs' | 'loadMs'>>
  readonly emit: Emit<GenerationEvent>
}

/** Processes an engine's events on their way to the caller: parses raw text, validates outputs and calls, adds timings. */
export function createOutputPipeline(options: OutputPipelineOptions): Emit<EngineEvent> {
  const { now, request, prepared, shortened, check, callCheck, startedMs, timings, emit } = options
  const { prompt, toolChoice, parallelToolCalls, output } = request
  const tools = prompt.type === 'chat' ? functionTools(prompt.tools) : []
  const otherTools = prompt.type === 'chat' ? prompt.otherTools : undefined
  const parser = createOutputParser({ format: prepared.outputFormat, tools, otherTools, toolChoice, parallelToolCalls, output })
  const beganMs = now()
  const lastArguments = request.stop.length > 0 && tools.length > 0 ? new LastCallArguments() : undefined
  let firstMs: number | undefined
  /** Pieces of reasoning that the engine itself separates from the text. */
  let reasoningPieces = 0
  const forward: Emit<GenerationEvent> = (event) => {
    check?.observe(event)
    callCheck?.observe(event)
    lastArguments?.observe(event)
    return emit(event)
  }
  /** Emits an event of the engine after the text that the parser still holds. */
  const afterText = (event: Extract<GenerationEvent, { choice: number }>): Promise<void> | undefined => {
    const pending = inTurn(parser.interrupt(event.choice, { endsThought: true }), forward)
    return pending === undefined ? forward(event) : pending.then(() => forward(event))
  }
  const finish = async (event: Extract<EngineEvent, { type: 'finish' }>): Promise<void> => {
    const { choice, reason } = event
    const truncated = isTruncated(event)
    // Other reasons report the truncation, and a call is not text.
    const isText = endsItself(reason) && parser.calls(choice) === 0
    if (isText) await check?.validate(choice, truncated)
    await callCheck?.validate(choice, truncated)
    await emit(finished(event))
  }
  /** Engines cannot see that their text was a call; a call that a stop sequence truncated does not count. */
  const finished = (event: Extract<EngineEvent, { type: 'finish' }>): typeof event => {
    const { choice, reason, stopSequence } = event
    if (reason === 'length' && shortened !== undefined) return { ...event, reason: 'context-full' }
    if (reason !== 'tool-calls' && !(endsItself(reason) && parser.calls(choice) > 0)) return event
    const isComplete = stopSequence === undefined || lastArguments?.areComplete(choice) === true
    return { ...event, reason: isComplete ? 'tool-calls' : 'stop' }
  }
  /** Adds the timings that the engine did not measure. */
  const complete = (measured: Timings): Timings => {
    const endMs = now()
    return {
      queueMs: timings.queueMs,
      loadMs: timings.loadMs,
      prefillMs: thousandths((firstMs ?? endMs) - beganMs),
      decodeMs: thousandths(endMs - (firstMs ?? endMs)),
      ...measured,
      ...(firstMs !== undefined && { firstTokenMs: elapsed(startedMs, firstMs) }),
      totalMs: thousandths(endMs - startedMs),
    }
  }

  return (event) => {
    switch (event.type) {
      case 'raw-text':
        firstMs ??= now()
        return inTurn(parser.push(event), forward)
      case 'finish': {
        const truncated = isTruncated(event)
        const pending = inTurn(parser.end(event.choice, truncated), (parsed) => {
          check?.observe(parsed)
          if (!truncated || parsed.type !== 'tool-call-end') callCheck?.observe(parsed)
          lastArguments?.observe(parsed)
          return emit(parsed)
        })
        if (pending !== undefined) return pending.then(() => finish(event))
        return check === undefined && callCheck === undefined ? emit(finished(event)) : finish(event)
      }
      case 'reasoning-start':
      case 'refusal-start':
        return afterText(event)
      case 'tool-call-start':
        firstMs ??= now()
        return afterText(event)
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
        if (event.type === 'reasoning-delta') reasoningPieces += 1
        firstMs ??= now()
        return forward(event)
      case 'tool-call-delta':
      case 'tool-call-end':
      case 'annotation':
      case 'mcp-tools':
      case 'approval-request':
      case 'server-tool-start':
      case 'server-tool-end':
        return forward(event)
      case 'usage': {
        const usage = withReasoning(event.usage, reasoningPieces + parser.reasoningTokens)
        const { servedBy } = event
        const replica = servedBy === undefined ? undefined : { servedBy }
        return emit({ type: 'usage', usage, timings: complete(event.timings), ...replica })
      }
      case 'prompt-read':
      case 'prompt-progress':
      case 'prompt-tokens':
      case 'text-start':
      case 'text-end':
      case 'reasoning-end':
      case 'refusal-end':
      case 'error':
        return emit(event)
    }
  }
}

class LastCallArguments {
  readonly #arguments = new Map<number, string>()

  observe(event: GenerationEvent): void {
    if (event.type === 'tool-call-start') this.#arguments.set(event.choice, '')
    else if (event.type === 'tool-call-delta') {
      this.#arguments.set(event.choice, (this.#arguments.get(event.choice) ?? '') + event.delta)
    }
  }

  /** Whether they are complete JSON, so that the answer was not truncated inside them. */
  areComplete(choice: number): boolean {
    return isJson(this.#arguments.get(choice) ?? '')
  }
}

/** The engine's count is exact; without one, a piece counts as a token. */
function withReasoning(usage: Usage, pieces: number): Usage {
  if (usage.reasoningTokens > 0 || pieces === 0) return usage
  return { ...usage, reasoningTokens: Math.min(pieces, usage.outputTokens) }
}

/** Milliseconds between two times, whole. */
export function elapsed(fromMs: number, toMs: number): number {
  return Math.round(toMs - fromMs)
}

function endsItself(reason: FinishReason): boolean {
  return reason === 'stop' || reason === 'end-of-message'
}
