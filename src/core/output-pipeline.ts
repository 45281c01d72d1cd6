import { functionTools } from '../contract/callable-tools.ts'
import { type Emit, inTurn } from '../contract/emit.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import type { EngineEvent, GenerationEvent, Timings } from '../contract/event.ts'
import { isTruncated } from '../contract/is-truncated.ts'
import type { GenerationRequest } from '../contract/request.ts'
import { createOutputParser } from '../model-text/parse/output-parser.ts'
import type { CallCheck } from './check-calls.ts'
import type { OutputCheck } from './check-output.ts'
import { LastCallArguments } from './last-call-arguments.ts'

export type Translation = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  readonly request: GenerationRequest
  readonly prepared: PreparedGeneration
  readonly check: OutputCheck | undefined
  readonly callCheck: CallCheck | undefined
  /** When the request came. */
  readonly startedMs: number
  readonly timings: Required<Pick<Timings, 'queueMs' | 'loadMs'>>
  readonly emit: Emit<GenerationEvent>
}

/** Turns what an engine tells into events: reads raw text, checks what has to be checked, and passes all else on. */
export function createTranslator(translation: Translation): Emit<EngineEvent> {
  const { now, request, prepared, check, callCheck, startedMs, timings, emit } = translation
  const { prompt, toolChoice, parallelToolCalls, output } = request
  const tools = prompt.type === 'chat' ? functionTools(prompt.tools) : []
  const parser = createOutputParser({ format: prepared.outputFormat, tools, toolChoice, parallelToolCalls, output })
  const lastCalls = request.stop.length > 0 && tools.length > 0 ? new LastCallArguments() : undefined
  let firstTokenMs: number | undefined
  const tell: Emit<GenerationEvent> = (event) => {
    check?.see(event)
    callCheck?.see(event)
    lastCalls?.see(event)
    return emit(event)
  }
  /** What the engine tells apart from text comes behind the text that it left to be read. */
  const behindText = (event: Extract<GenerationEvent, { choice: number }>): Promise<void> | undefined => {
    const pending = inTurn(parser.interrupt(event.choice), tell)
    return pending === undefined ? tell(event) : pending.then(() => tell(event))
  }
  const finish = async (event: Extract<EngineEvent, { type: 'finish' }>): Promise<void> => {
    const { choice, reason } = event
    const isCut = isTruncated(event)
    // What was cut off says so itself, and a call is no text.
    if (reason === 'stop' && parser.calls(choice) === 0) await check?.judge(choice, isCut)
    await callCheck?.judge(choice, isCut)
    await emit(finished(event))
  }
  /** An engine cannot know that its text was a call; one that a stop text broke off in was none. */
  const finished = (event: Extract<EngineEvent, { type: 'finish' }>): typeof event => {
    const { choice, reason, stopSequence } = event
    if (reason !== 'tool-calls' && (reason !== 'stop' || parser.calls(choice) === 0)) return event
    const isWhole = stopSequence === undefined || lastCalls?.isWhole(choice) === true
    return { ...event, reason: isWhole ? 'tool-calls' : 'stop' }
  }

  return (event) => {
    switch (event.type) {
      case 'raw-text':
        firstTokenMs ??= elapsed(startedMs, now())
        return inTurn(parser.push(event), tell)
      case 'finish': {
        const isCut = isTruncated(event)
        const pending = inTurn(parser.end(event.choice, isCut), (parsed) => {
          check?.see(parsed)
          if (!isCut || parsed.type !== 'tool-call-end') callCheck?.see(parsed)
          lastCalls?.see(parsed)
          return emit(parsed)
        })
        if (pending !== undefined) return pending.then(() => finish(event))
        return check === undefined && callCheck === undefined ? emit(finished(event)) : finish(event)
      }
      case 'reasoning-start':
      case 'refusal-start':
        return behindText(event)
      case 'tool-call-start':
        firstTokenMs ??= elapsed(startedMs, now())
        return behindText(event)
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
        firstTokenMs ??= elapsed(startedMs, now())
        return tell(event)
      case 'tool-call-delta':
      case 'tool-call-end':
      case 'annotation':
        return tell(event)
      case 'usage': {
        // What the engine counted is exact; ours takes a piece of text for a token.
        const counts = event.usage.reasoningTokens > 0 || parser.reasoningTokens === 0
        const usage = counts ? event.usage : { ...event.usage, reasoningTokens: parser.reasoningTokens }
        const { queueMs, loadMs } = timings
        const firstToken = firstTokenMs === undefined ? undefined : { firstTokenMs }
        return emit({ type: 'usage', usage, timings: { queueMs, loadMs, ...event.timings, ...firstToken } })
      }
      case 'prompt-read':
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

/** Milliseconds between two times, whole. */
export function elapsed(fromMs: number, toMs: number): number {
  return Math.round(toMs - fromMs)
}
